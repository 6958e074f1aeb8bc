"""The static check: our inputs pass, and each way out of the work folder is refused, however it is written."""

import pytest

from sophron.science.lammps.executable import find
from sophron.science.lammps.input_checker import check

ACCEPTED = """
units lj                     # a comment & what follows it
variable n loop 3
variable t index 0.7 0.8
variable e equal "2.0*(1.5-pe) / 3 + sqrt(step)"
fix heat all langevin ${t} $t 1.0 48279 zero yes
velocity all scale ${e}
print "step $(step) of ${n}: shell and include are only words here"
fix s all ave/time 5 1 5 c_p[1] c_p[*] file s.${n}.dat format " %.12g"
if "${n} > 2" then "print 'two words'" elif "$(1+1) == 2" "run 0" else &
   "fix more all nve" "unfix more"
run 100 every 10 "print x" "write_restart r.*.restart"
dump d all custom 10 d.*.txt id x y z
read_data system.data
thermo_modify format float " %.5g"
label again
next n
jump SELF again
"""

REFUSED = [
    ("shell touch x", "starts programs"),
    ("  shell touch x", "starts programs"),
    ("SHELL touch x", "starts programs"),
    ('"shell" touch x', "starts programs"),
    ("'shell' touch x", "starts programs"),
    ('"""shell""" touch x', "starts programs"),
    ("sh&\nell touch x", "starts programs"),
    ("sh&  \nell touch x", "starts programs"),
    ("run 0 # &\n\nshell touch x", "starts programs"),
    ("\tshell touch x", "starts programs"),
    ("run 0\rshell touch x", "starts programs"),
    ("variable c string shell\n${c} touch x", "may stand for any text"),
    ("variable c string shell\n$c touch x", "may stand for any text"),
    ("variable c equal 1\n${c} touch x", "is not a command that is known"),
    ("variable c index 1 shell\nsh${c} x", "may stand for any text"),
    ("variable c equal 1\nvariable c delete\nvariable c string shell\n${c} x", "may stand for any text"),
    ("variable c getenv HOME\nprint ${c}", "reads files, the environment or runs code"),
    ("variable c file secrets.txt", "reads files, the environment or runs code"),
    ("variable c atomfile secrets.txt", "reads files, the environment or runs code"),
    ("variable c python f", "reads files, the environment or runs code"),
    ("variable c shell ls", "reads files, the environment or runs code"),
    ("variable c equal py_f(1)", "calls a Python function"),
    ("variable n loop 2\nvariable c${n} string shell", "takes its name or style from a variable"),
    ("variable n equal 1\nvariable c format n shell%g\n${c} x", "may stand for any text"),
    ("print $(1:shell%g)", "may stand for any text"),
    ("python f here 'import os'", "runs Python code"),
    ("plugin load x.so", "loads foreign code"),
    ("include /etc/passwd", "reads another input"),
    ("include other.in", "reads another input"),
    ("geturl http://x", "reaches the network"),
    ("kim init x metal", "loads foreign code"),
    ("kim_init x metal", "loads foreign code"),
    ("mdi engine", "talks to other programs"),
    ("molecule m a.mol", "is not a command that is known"),
    ("print hello file out.txt", "`print` writes a file"),
    ("print hello append out.txt", "`print` writes a file"),
    ("fix p all print 10 'hello' append out.txt", "`fix print` writes a file"),
    ("write_data /tmp/x", "outside the work folder"),
    ("write_data ../x", "outside the work folder"),
    ("write_data a/../../x", "outside the work folder"),
    ("write_data '/tmp/x'", "outside the work folder"),
    ("write_data ~/x", "outside the work folder"),
    ("write_restart /tmp/x", "outside the work folder"),
    ("restart 10 /tmp/a /tmp/b", "outside the work folder"),
    ("read_restart /tmp/a", "outside the work folder"),
    ("read_data /etc/passwd", "outside the work folder"),
    ("log /tmp/log", "outside the work folder"),
    ("dump d all atom 10 /tmp/d", "outside the work folder"),
    ("dump d all atom 10 d.gz", "through another program"),
    ("dump d all movie 10 d.mpg type type", "talks to other programs"),
    ("write_dump all movie d.mpg type type", "talks to other programs"),
    ("dump d all atom 10 d.zst", "through another program"),
    ('dump d all atom 10 "d;touch x;.gz"', "whose signs have a meaning"),
    ("dump d all atom 10 `touch`", "whose signs have a meaning"),
    ("write_data x|touch", "whose signs have a meaning"),
    ("variable p string /tmp/x\nwrite_data ${p}", "may stand for any text"),
    ("fix s all ave/time 5 1 5 c_p file /tmp/x", "outside the work folder"),
    ("pair_coeff * * /etc/passwd", "outside the work folder"),
    ("create_atoms 1 mesh /etc/passwd", "outside the work folder"),
    ("jump other.in", "leads out of this input"),
    ("jump ../other.in here", "leads out of this input"),
    ('if "1" then "shell touch x"', "starts programs"),
    ("if 1 then 'print a' 'shell touch x'", "starts programs"),
    ('if "0" then "run 0" elif "1" "shell touch x"', "starts programs"),
    ('if "0" then "run 0" else "shell touch x"', "starts programs"),
    ("if 1 then \"if 1 then 'shell touch x'\"", "starts programs"),
    ('run 100 every 10 "shell touch x"', "starts programs"),
    ("partition yes 1 shell touch x", "starts programs"),
    ("partition yes 1 print 'a' file x", "`print` writes a file"),
    ("fix f all python/invoke 1 post_force f", "runs foreign code"),
    ("fix f all external pf/callback 1 1", "runs foreign code"),
    ("fix f all imd 5678", "runs foreign code"),
    ("fix f all plumed plumedfile p outfile o", "runs foreign code"),
    ("fix f all colvars c", "runs foreign code"),
    ("pair_style python 2.5", "runs foreign code"),
    ("pair_style hybrid lj/cut 2.5 python 2.5", "runs foreign code"),
    ("variable s equal 1\nfix f all ${s} 1", "takes a name or style from a variable"),
    ('print "never closed', "quote that is never closed"),
    ("write_data a\x00b", "control character"),
]


def test_harmless_input_passes():
    assert check(ACCEPTED) == []


@pytest.mark.parametrize(("text", "said"), REFUSED)
def test_each_way_out_is_refused(text, said):
    findings = check(text)
    assert any(said in finding.reason for finding in findings), findings


def test_findings_name_their_line():
    text = "units lj\n\nrun 0 &\n  # x\nshell a\nprint ok\nshell b\n"
    assert [finding.line for finding in check(text)] == [5, 7]


def test_text_in_a_comment_is_no_command():
    assert check("# shell touch x\nrun 0 # shell\n# a &\nshell touch x\n") == []


def test_a_message_holds_no_control_characters():
    (finding, *_) = check("\x1b[31mshell x")
    assert "\x1b" not in finding.reason


@pytest.mark.parametrize(
    "text",
    [
        "sh&\nell touch owned",
        "variable c string shell\n${c} touch owned",
        '"""shell""" touch owned',
        'if "1" then "shell touch owned"',
        "run 0 # &\n\nshell touch owned",
    ],
)
def test_what_lammps_would_run_is_seen(tmp_path, text):
    """The program itself runs a command on each of these: the check must not read them another way."""
    import os
    import subprocess

    engine = find()
    start = "units lj\nregion b block 0 3 0 3 0 3\ncreate_box 1 b\nmass 1 1\npair_style zero 1.0\npair_coeff * *\n"
    subprocess.run(
        [engine.program, "-log", "none", "-screen", "none"],
        input=start + text + "\n",
        cwd=tmp_path,
        env={**os.environ, **engine.environment, "OMP_NUM_THREADS": "1"},
        text=True,
        capture_output=True,
        check=False,
    )
    assert (tmp_path / "owned").exists()
    assert check(text)
