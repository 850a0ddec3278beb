package io.pgsteward.protocol;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JsonTest {

  private static SyncRequest request(String json) throws MalformedMessageException {
    return Json.read(json.getBytes(UTF_8), SyncRequest.class);
  }

  @Test
  void unknown_fields_and_values_of_later_versions_are_ignored() throws Exception {
    SyncRequest read =
        request("{\"version\":9,\"sequence\":3,\"phase\":\"DREAMING\",\"later\":{\"a\":[1]}}");
    assertThat(read.sequence()).isEqualTo(3);
    assertThat(read.phase()).isEqualTo(MemberPhase.JOINING);
  }

  @Test
  void what_is_left_out_is_zero_or_empty() throws Exception {
    SyncRequest read = request("{\"tenants\":[{\"tenant\":\"web@shop\"}]}");
    assertThat(read.instance()).isNull();
    assertThat(read.tenants())
        .containsExactly(new TenantReport("web@shop", 0, 0, 0, 0, 0, 0, 0, List.of()));
  }

  @Test
  void what_is_written_is_read_back() throws Exception {
    SyncResponse answer =
        new SyncResponse(
            1,
            "main",
            7,
            3,
            CoordinatorPhase.SERVING,
            15_000,
            5_000,
            100,
            90,
            List.of(new TenantGrant("web@shop", 2, null, 30, null)));
    assertThat(Json.read(Json.write(answer), SyncResponse.class)).isEqualTo(answer);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "null",
        "[]",
        "42",
        "{",
        "{} {}",
        "{\"sequence\":-1}",
        "{\"sequence\":\"many\"}",
        "{\"tenants\":[{}]}",
        "{\"tenants\":[{\"tenant\":\"a@b\",\"open\":-1}]}",
        "{\"sequence\":99999999999999999999999999}",
      })
  void what_is_not_a_request_is_told(String json) {
    assertThatThrownBy(() -> request(json))
        .isInstanceOf(MalformedMessageException.class)
        .hasMessageContaining("SyncRequest");
  }
}
