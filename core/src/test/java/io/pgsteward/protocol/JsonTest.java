package io.pgsteward.protocol;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
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

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{'tenants':[null]} | tenants[0] is null",
        "{'tenants':[{'tenant':'a@b','pids':[1,null]}]} | tenants[0]: pids[1] is null",
        "{'sequence':1.5} | sequence: must be a whole number",
        "{'sequence':1.0} | sequence: must be a whole number",
        "{'sequence':'1'} | sequence: must be a whole number",
        "{'sequence':''} | sequence: must be a whole number",
        "{'sequence':true} | sequence: must be a whole number",
        "{'sequence':[1]} | sequence: must be a whole number",
        "{'tenants':[{'tenant':'a@b','pids':[7,'1']}]} | tenants[0].pids[1]: must be a whole",
        "{'tenants':[{'tenant':'a@b','pids':[1.5]}]} | tenants[0].pids[0]: must be a whole number",
        "{'tenants':[{'tenant':'a@b','pids':[3000000000]}]} | tenants[0].pids[0]: ",
        "{'tenants':[{'tenant':'a@b'},{'tenant':'a@c','open':'2'}]} | tenants[1].open: must be",
        "{'tenants':[{'tenant':'a@b','open':-1}]} | tenants[0]: open of a@b may not be negative",
        "{'tenants':[{'tenant':5}]} | tenants[0].tenant: must be a text",
        "{'tenants':[5]} | tenants[0]: must be an object",
        "{'tenants':{}} | tenants: must be a list",
        "{'tenants':''} | tenants: must be a list",
        "{'name':5} | name: must be a text",
        "{'instance':false} | instance: must be a text",
        "{'leaving':'true'} | leaving: must be true or false",
        "{'leaving':1} | leaving: must be true or false",
        "{'phase':1} | phase: must be a word",
        "[] | must be an object",
      })
  void a_field_of_the_wrong_type_is_named(String json, String message) {
    assertThatThrownBy(() -> request(json.replace('\'', '"')))
        .isInstanceOf(MalformedMessageException.class)
        .hasMessageStartingWith("not a SyncRequest: " + message)
        .hasMessageNotContaining("java.")
        .hasMessageNotContaining("io.pgsteward");
  }

  @ParameterizedTest
  @ValueSource(strings = {"null", "\"\"", "\"DREAMING\""})
  void an_unknown_word_counts_as_left_out(String phase) throws Exception {
    assertThat(request("{\"phase\":" + phase + "}").phase()).isEqualTo(MemberPhase.JOINING);
  }
}
