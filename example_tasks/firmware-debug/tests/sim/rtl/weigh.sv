// The weighted sum of six sums of 10 bits. The oldest lies in the lowest bits of the window, and has the weight 1.
module weigh (
    input  logic [59:0] window,
    output logic [14:0] result
);
  always_comb begin
    result = '0;
    for (int i = 0; i < 6; i++) result += 15'(window[10*i+:10]) * 15'(i + 1);
  end
endmodule
