#include <gtest/gtest.h>

#include "apiserver/schema/schema_test_util.h"

namespace lockstep::apiserver::schema_defaults_test {
namespace {

TEST_F(SchemaTest, FillsInDefaultsAlsoNestedOnes) {
  const Schema& schema = custom(
      "{'type':'object','properties':{'spec':{'type':'object','default':{},'properties':{"
      "'replicas':{'type':'integer','default':2},'nothing':{'type':'string'},"
      "'maybe':{'type':'string','nullable':true,'default':'x'},"
      "'list':{'type':'array','items':{'type':'object','properties':{'port':{'type':'integer','"
      "default':80}}}}}}}}");
  struct Case {
    const char* before;
    const char* after;
  };
  const Case cases[] = {
      {"{}", "{'spec':{'replicas':2,'maybe':'x'}}"},
      {"{'spec':{'replicas':null,'nothing':null,'maybe':null}}",
       "{'spec':{'replicas':2,'maybe':null}}"},
      {"{'spec':{'replicas':5,'maybe':'','list':[{},{'port':1}]}}",
       "{'spec':{'replicas':5,'maybe':'','list':[{'port':80},{'port':1}]}}"},
      {"{'spec':'wrong'}", "{'spec':'wrong'}"},
  };
  for (const Case& each : cases) {
    Json object = json(each.before);
    apply_defaults(schema, object);
    EXPECT_TRUE(json_equal(object, json(each.after))) << print_json(object);
  }
}

}  // namespace
}  // namespace lockstep::apiserver::schema_defaults_test
