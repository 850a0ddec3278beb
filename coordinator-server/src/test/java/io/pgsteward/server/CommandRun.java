package io.pgsteward.server;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import picocli.CommandLine;

/** A command that was run within this JVM: its exit code and what it printed. */
record CommandRun(int code, String out, String err) {

  static CommandRun of(String... arguments) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    CommandLine main = Main.commandLine();
    main.setOut(new PrintWriter(out, true));
    main.setErr(new PrintWriter(err, true));
    int code = main.execute(arguments);
    return new CommandRun(code, out.toString(), err.toString());
  }

  List<String> lines() {
    return out.lines().toList();
  }
}
