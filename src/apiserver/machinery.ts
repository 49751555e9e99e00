// The schema machinery as this server uses it: one door, so that its users here need not know how it is cut.
export { applyDefaults } from '#api/schema/default.ts'
export { prune } from '#api/schema/prune.ts'
export { applyJsonPatch } from './schema/patch/json-patch.ts'
export { applyMergePatch } from './schema/patch/merge-patch.ts'
export { PatchError } from './schema/patch/patch-error.ts'
export { strategicMerge } from './schema/patch/strategic-merge.ts'
export { applyServerSide } from './schema/apply/apply-server-side.ts'
export { trackUpdate } from './schema/apply/track-update.ts'
export { conflictCauses, conflictMessage } from './schema/apply/conflict.ts'
export { fieldSetOfPaths, hasPath, type FieldSet } from './schema/apply/field-set.ts'
export { structuralProblems } from './schema/structural.ts'
export { findField } from './schema/structural-path.ts'
export { compileSchemaRules, type RuleTree } from './schema/cel/rules.ts'
export { validateRules } from './schema/cel/run-rules.ts'
export { createValidator } from './schema/validate.ts'
export { coerceEmbedded } from './schema/coerce.ts'
export {
  admissionScope,
  AdmissionEvaluation,
  compileAdmission,
  matchConditions,
  withoutAuthorizer,
  type AdmissionScope,
  type MatchCondition,
} from './schema/cel/admission.ts'
export { authorizerValue, type MayThey } from './schema/cel/library-authorizer.ts'
