package io.pgsteward.server;

import io.pgsteward.protocol.Json;
import io.pgsteward.protocol.MalformedMessageException;
import io.pgsteward.protocol.StatusResponse;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of commands that ask a running coordinator, and the question itself. */
final class StatusOption {

  private static final Duration DEADLINE = Duration.ofSeconds(10);

  @Option(
      names = "--url",
      paramLabel = "URL",
      defaultValue = "http://127.0.0.1:7432",
      description = "where the coordinator listens; ${DEFAULT-VALUE} if left out")
  @SuppressWarnings("NullAway.Init")
  private String url;

  @Option(
      names = "--token-env",
      paramLabel = "NAME",
      description = "the environment variable with an operator's token")
  private @Nullable String tokenVariable;

  String url() {
    return url;
  }

  /** Asks for the status. */
  StatusResponse status() throws CommandException, InterruptedException {
    HttpRequest request = request();
    try {
      HttpResponse<byte[]> response =
          HttpClient.newBuilder()
              .connectTimeout(DEADLINE)
              .build()
              .send(request, HttpResponse.BodyHandlers.ofByteArray());
      if (response.statusCode() == 401 || response.statusCode() == 403) {
        throw failed(
            "the coordinator at " + url + " wants an operator's token: --token-env NAME", null);
      }
      if (response.statusCode() != 200) {
        throw failed("the coordinator at " + url + " answered " + response.statusCode(), null);
      }
      return Json.read(response.body(), StatusResponse.class);
    } catch (MalformedMessageException e) {
      throw failed("what answers at " + url + " is no coordinator: " + e.getMessage(), e);
    } catch (IOException e) {
      throw failed(
          "the coordinator at "
              + url
              + " cannot be reached ("
              + (e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage())
              + "); --url says where it listens",
          e);
    }
  }

  private HttpRequest request() throws CommandException {
    HttpRequest.Builder request;
    try {
      request =
          HttpRequest.newBuilder(URI.create(url.replaceAll("/+$", "") + "/v1/status"))
              .timeout(DEADLINE);
    } catch (IllegalArgumentException e) {
      throw wrong("--url must be like http://127.0.0.1:7432, but it is " + url, e);
    }
    if (tokenVariable != null) {
      String token = System.getenv(tokenVariable);
      if (token == null || token.isBlank()) {
        throw wrong("the environment variable " + tokenVariable + " is not set", null);
      }
      try {
        request.header("Authorization", "Bearer " + token.strip());
      } catch (IllegalArgumentException e) {
        // Its message quotes the token.
        throw wrong("the token in " + tokenVariable + " is not made of visible ASCII", null);
      }
    }
    return request.build();
  }

  private static CommandException failed(String message, @Nullable Throwable cause) {
    return new CommandException(ExitCode.FAILED, message, cause);
  }

  private static CommandException wrong(String message, @Nullable Throwable cause) {
    return new CommandException(ExitCode.WRONG_CONFIG, message, cause);
  }
}
