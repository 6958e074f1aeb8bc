// The sum of four samples of 8 bits: at most 1020.
module lane_sum (
    input  logic [31:0] word,
    output logic [ 9:0] total
);
  assign total = 10'(word[7:0]) + 10'(word[15:8]) + 10'(word[23:16]) + 10'(word[31:24]);
endmodule
