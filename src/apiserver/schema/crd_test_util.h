// A CRD for tests.
#pragma once

#include <string>

#include "apiserver/schema/schema_test_util.h"

namespace lockstep::apiserver {

inline Json widget_crd(std::string schema = "{'type':'object'}") {
  return json(
      "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition',"
      "'metadata':{'name':'widgets.example.com'},'spec':{'group':'example.com','scope':'Namespaced'"
      ","
      "'names':{'kind':'Widget','plural':'widgets','shortNames':['wd'],'categories':['all']},'"
      "versions':["
      "{'name':'v1','served':true,'storage':true,'schema':{'openAPIV3Schema':" +
      std::move(schema) +
      "},'subresources':{'status':{},'scale':{'specReplicasPath':'.spec.n','statusReplicasPath':'."
      "status.n'}},"
      "'additionalPrinterColumns':[{'name':'Size','type':'integer','jsonPath':'.spec.size','"
      "priority':1}]},"
      "{'name':'v1beta1','served':true,'storage':false,'deprecated':true,'schema':{'"
      "openAPIV3Schema':"
      "{'type':'object','description':'old'}}},"
      "{'name':'v1alpha1','served':false,'storage':false,'schema':{'openAPIV3Schema':{'type':'"
      "object',"
      "'description':'older'}}}]}}");
}

}  // namespace lockstep::apiserver
