package io.pgsteward.testing;

import io.zonky.test.db.postgres.embedded.DefaultPostgresBinaryResolver;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.jspecify.annotations.Nullable;
import org.tukaani.xz.XZInputStream;

/**
 * The PostgreSQL programs that come as Maven artifacts, unpacked once per machine, user and
 * version. Only {@code initdb}, {@code pg_ctl} and {@code postgres} are among them.
 */
final class PostgresBinaries {

  private static final Object UNPACKING = new Object();

  private static @Nullable Path unpacked;

  private PostgresBinaries() {}

  /** The directory that contains {@code bin}, {@code lib} and {@code share}. */
  static Path directory() {
    synchronized (UNPACKING) {
      if (unpacked != null) {
        return unpacked;
      }
      try {
        byte[] archive = archive();
        Path home =
            Path.of(
                System.getProperty("java.io.tmpdir", "/tmp"),
                "pgsteward-postgres-" + System.getProperty("user.name", "anyone"));
        Path directory = home.resolve(digest(archive));
        if (!Files.isDirectory(directory)) {
          Files.createDirectories(home);
          unpackBeside(directory, archive);
        }
        unpacked = directory;
        return directory;
      } catch (IOException e) {
        throw new UncheckedIOException("the PostgreSQL programs could not be unpacked", e);
      }
    }
  }

  private static byte[] archive() throws IOException {
    String name = System.getProperty("os.name", "");
    String system =
        name.startsWith("Mac") ? "Darwin" : name.startsWith("Windows") ? "Windows" : "Linux";
    String architecture = System.getProperty("os.arch", "");
    try (InputStream in =
        DefaultPostgresBinaryResolver.INSTANCE.getPgBinary(
            system, architecture.equals("amd64") ? "x86_64" : architecture)) {
      return in.readAllBytes();
    }
  }

  private static String digest(byte[] archive) {
    try {
      byte[] sum = MessageDigest.getInstance("SHA-256").digest(archive);
      return HexFormat.of().formatHex(sum, 0, 12);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }

  /** Unpacks into a directory of its own and renames it, so that two JVMs may do so at once. */
  private static void unpackBeside(Path directory, byte[] archive) throws IOException {
    Path fresh = Files.createTempDirectory(directory.resolveSibling(""), "unpacking");
    try {
      unpack(archive, fresh);
      // The server may have to run as another user than the one that unpacked it.
      Files.setPosixFilePermissions(fresh, PosixFilePermissions.fromString("rwxr-xr-x"));
      Files.move(fresh, directory, StandardCopyOption.ATOMIC_MOVE);
    } catch (FileSystemException e) {
      delete(fresh);
      if (!Files.isDirectory(directory)) {
        throw e;
      }
    }
  }

  private static void unpack(byte[] archive, Path target) throws IOException {
    try (TarArchiveInputStream in =
        new TarArchiveInputStream(new XZInputStream(new ByteArrayInputStream(archive)))) {
      for (TarArchiveEntry entry = in.getNextEntry(); entry != null; entry = in.getNextEntry()) {
        Path path = target.resolve(entry.getName()).normalize();
        if (!path.startsWith(target)) {
          throw new IOException("the archive names a path outside itself: " + entry.getName());
        }
        if (entry.isDirectory()) {
          Files.createDirectories(path);
          continue;
        }
        Files.createDirectories(path.resolveSibling(""));
        if (entry.isSymbolicLink()) {
          Files.createSymbolicLink(path, Path.of(entry.getLinkName()));
        } else {
          Files.copy(in, path);
          boolean program = (entry.getMode() & 0100) != 0;
          Files.setPosixFilePermissions(
              path, PosixFilePermissions.fromString(program ? "rwxr-xr-x" : "rw-r--r--"));
        }
      }
    }
  }

  static void delete(Path directory) throws IOException {
    if (!Files.exists(directory)) {
      return;
    }
    List<Path> inside;
    try (Stream<Path> walk = Files.walk(directory)) {
      inside = walk.sorted(Comparator.reverseOrder()).toList();
    }
    for (Path path : inside) {
      Files.deleteIfExists(path);
    }
  }
}
