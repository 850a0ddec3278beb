package io.pgsteward.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pgsteward.protocol.CoordinatorPhase;
import io.pgsteward.protocol.ErrorResponse;
import io.pgsteward.protocol.Json;
import io.pgsteward.protocol.MemberPhase;
import io.pgsteward.protocol.StatusResponse;
import io.pgsteward.protocol.SyncRequest;
import io.pgsteward.protocol.SyncResponse;
import java.io.IOException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Messages of version 1 as they travelled: they are read, written and documented as they were. */
@Timeout(60)
class ProtocolSamplesTest {

  private static final Path SAMPLES = Path.of("src/test/resources/io/pgsteward/protocol/v1");
  private static final Path PAGE = Path.of("../docs/protocol.md");
  private static final Pattern ON_PAGE =
      Pattern.compile("<!-- sample: (\\S+) -->\n```json\n(.*?)```\n", Pattern.DOTALL);
  private static final ObjectMapper JSON = new ObjectMapper();

  private static byte[] sample(String name) throws IOException {
    return Files.readAllBytes(SAMPLES.resolve(name));
  }

  static Stream<Arguments> samples() {
    return Stream.of(
        Arguments.of("sync-request-join.json", SyncRequest.class),
        Arguments.of("sync-request-measured.json", SyncRequest.class),
        Arguments.of("sync-request-leave.json", SyncRequest.class),
        Arguments.of("sync-response-grant.json", SyncResponse.class),
        Arguments.of("sync-response-refused-tenant.json", SyncResponse.class),
        Arguments.of("error-not-leading.json", ErrorResponse.class),
        Arguments.of("status.json", StatusResponse.class));
  }

  @ParameterizedTest
  @MethodSource("samples")
  void every_sample_is_read_and_written_without_loss(String name, Class<?> type)
      throws IOException {
    Object message = Json.read(sample(name), type);

    assertThat(JSON.readTree(Json.write(message))).isEqualTo(JSON.readTree(sample(name)));
  }

  @Test
  void a_message_of_a_later_version_is_read_as_far_as_it_is_understood() throws IOException {
    SyncRequest request = Json.read(sample("sync-request-from-the-future.json"), SyncRequest.class);

    assertThat(request.version()).isEqualTo(2);
    assertThat(request.phase()).isEqualTo(MemberPhase.JOINING);
    assertThat(request.instance()).isNull();
    assertThat(request.tenants().get(0).demand()).isEqualTo(1);
    assertThat(request.tenants().get(0).pids()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "sync-request-join.json",
        "sync-request-measured.json",
        "sync-request-leave.json",
        "sync-request-from-the-future.json"
      })
  void every_request_is_answered_by_a_coordinator(String name) throws Exception {
    try (RunningCoordinator coordinator = RunningCoordinator.with(100)) {
      HttpResponse<String> response =
          coordinator.send(
              coordinator
                  .to("/v1/members/5f0c1d8a9b3e47d2a1c0/sync")
                  .POST(HttpRequest.BodyPublishers.ofByteArray(sample(name)))
                  .build());

      SyncResponse answer = RunningCoordinator.read(response);
      assertThat(answer.phase()).isEqualTo(CoordinatorPhase.SERVING);
      assertThat(answer.version()).isEqualTo(1);
    }
  }

  @Test
  void the_page_shows_the_samples_as_they_are() throws IOException {
    Map<String, JsonNode> onPage = new TreeMap<>();
    Matcher matcher = ON_PAGE.matcher(Files.readString(PAGE));
    while (matcher.find()) {
      onPage.put(matcher.group(1), JSON.readTree(matcher.group(2)));
    }
    Map<String, JsonNode> recorded = new TreeMap<>();
    for (Object[] sample : samples().map(Arguments::get).toList()) {
      recorded.put((String) sample[0], JSON.readTree(sample((String) sample[0])));
    }
    List<String> files;
    try (Stream<Path> list = Files.list(SAMPLES)) {
      files = list.map(p -> p.getFileName().toString()).toList();
    }

    assertThat(onPage).isEqualTo(recorded);
    assertThat(files).containsAll(recorded.keySet()).hasSize(recorded.size() + 1);
  }
}
