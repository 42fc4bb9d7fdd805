// crd answers what an API server would do with the creation of objects under fieldValidation=Strict: {"refused": "why"},
// or {"stored": the object without what is pruned}. It reads JSON, one text a line: a list of CustomResourceDefinitions,
// then the objects. It takes the steps of the API server's own handler and strategy of custom resources, by the same
// functions (pkg/apiserver/customresource_handler.go, pkg/registry/customresource/strategy.go of
// k8s.io/apiextensions-apiserver), without a server and etcd.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metavalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

type kind struct {
	schema    *schema.Structural
	validator validation.SchemaValidator
	rules     *cel.Validator
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func newKind(crd *v1.CustomResourceDefinition) kind {
	internal := &apiextensions.CustomResourceValidation{}
	must(v1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(crd.Spec.Versions[0].Schema, internal, nil))
	structural, err := schema.NewStructural(internal.OpenAPIV3Schema)
	must(err)
	validator, _, err := validation.NewSchemaValidator(internal.OpenAPIV3Schema)
	must(err)
	return kind{structural, validator, cel.NewValidator(structural, true, celconfig.PerCallLimit)}
}

// The rules come last: a form that is wrong is refused, whatever they say.
func (k kind) validate(u *unstructured.Unstructured) field.ErrorList {
	errs := metavalidation.ValidateObjectMetaAccessor(u, true, metavalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	errs = append(errs, validation.ValidateCustomResource(nil, u.Object, k.validator)...)
	errs = append(errs, objectmeta.Validate(context.Background(), nil, u.Object, k.schema, false)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, k.schema, u.Object)...)
	if len(errs) == 0 {
		errs, _ = k.rules.Validate(context.Background(), nil, k.schema, u.Object, nil, celconfig.RuntimeCELCostBudget)
	}
	return errs
}

func create(kinds map[string]kind, text []byte) map[string]any {
	var object unstructured.Unstructured
	if err := object.UnmarshalJSON(text); err != nil {
		return map[string]any{"refused": err.Error()}
	}
	k, is := kinds[object.GetKind()]
	if !is {
		return map[string]any{"refused": "no such kind"}
	}
	unknown := pruning.PruneWithOptions(object.Object, k.schema, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	if len(unknown) > 0 {
		return map[string]any{"refused": "unknown field " + strings.Join(unknown, ", ")}
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(object.Object, k.schema)
	defaulting.Default(object.Object, k.schema)
	if errs := k.validate(&object); len(errs) > 0 {
		return map[string]any{"refused": errs.ToAggregate().Error()}
	}
	return map[string]any{"stored": object.Object}
}

func main() {
	kinds, in := map[string]kind{}, bufio.NewReaderSize(os.Stdin, 1<<20)
	var crds []v1.CustomResourceDefinition
	head, err := in.ReadBytes('\n')
	must(err)
	must(json.Unmarshal(head, &crds))
	for i := range crds {
		kinds[crds[i].Spec.Names.Kind] = newKind(&crds[i])
	}
	for line, err := in.ReadBytes('\n'); err == nil; line, err = in.ReadBytes('\n') {
		answer, err := json.Marshal(create(kinds, line))
		must(err)
		fmt.Println(string(answer))
	}
}
