package io.pgsteward.testing;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** How PostgreSQL's programs are run, since they refuse to run as root. */
enum RunAs {
  /** We are not root. */
  OURSELVES(List.of()),
  /** As root inside a user namespace of its own, where we appear as nobody. */
  NOBODY_IN_A_NAMESPACE(List.of("unshare", "-U")),
  /** As the user nobody, where user namespaces are forbidden. */
  NOBODY(List.of("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"));

  private final List<String> prefix;

  RunAs(List<String> prefix) {
    this.prefix = prefix;
  }

  /** The first way that works here. */
  static RunAs find() {
    if (!"root".equals(System.getProperty("user.name"))) {
      return OURSELVES;
    }
    for (RunAs way : List.of(NOBODY_IN_A_NAMESPACE, NOBODY)) {
      if (way.works()) {
        return way;
      }
    }
    throw new IllegalStateException(
        "PostgreSQL does not run as root, and neither \"unshare -U true\" nor \"setpriv"
            + " --reuid=65534 --regid=65534 --clear-groups true\" works here. Run as an ordinary"
            + " user, or name a server: -Dpgsteward.test.postgres=jdbc:postgresql://...");
  }

  private boolean works() {
    try {
      return run(command("true")) == 0;
    } catch (IOException notInstalled) {
      return false;
    }
  }

  List<String> command(String... words) {
    List<String> command = new ArrayList<>(prefix);
    command.addAll(List.of(words));
    return command;
  }

  /** Gives a directory with all that is in it to the user that the programs run as. */
  void own(Path directory) throws IOException {
    if (this == NOBODY && run(List.of("chown", "-R", "65534:65534", directory.toString())) != 0) {
      throw new IOException("chown of " + directory + " to nobody failed");
    }
  }

  private static int run(List<String> command) throws IOException {
    Process process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    try {
      return process.waitFor();
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    }
  }
}
