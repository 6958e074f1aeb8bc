// Sums of four lanes, six at a time: `out_valid` is 1 for one clock after every sixth word.
module stream_wrapper (
    input  logic        clk,
    input  logic        rst,
    input  logic        in_valid,
    input  logic [31:0] in_data,
    output logic        out_valid,
    output logic [14:0] out_data
);
  localparam int SUM_BITS = 10;
  localparam int DEPTH = 6;

  logic [SUM_BITS-1:0] total;
  logic [DEPTH*SUM_BITS-1:0] window;
  logic [2:0] count;

  lane_sum u_sum (
      .word (in_data),
      .total(total)
  );
  weigh u_weigh (
      .window(window),
      .result(out_data)
  );

  always_ff @(posedge clk) begin
    if (rst) begin
      window <= '0;
      count <= '0;
      out_valid <= 1'b0;
    end else begin
      out_valid <= in_valid && count == 3'(DEPTH - 1);
      if (in_valid) begin
        window <= {total, window[DEPTH*SUM_BITS-1:SUM_BITS]};
        count  <= count == 3'(DEPTH - 1) ? '0 : count + 3'd1;
      end
    end
  end
endmodule
