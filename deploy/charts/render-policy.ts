// Admission policy: what sync makes in the namespace of renders, and nothing else: Jobs of the one form of src/sync/render/job/job-spec.ts, and their input.
// No commit declares anything there. The image is not compared: elsewhere sync runs any, and here none has a token, a network or a node's power.
import { ANNOTATIONS, LABELS, RENDER_NAMESPACE, SOURCE_USER_PREFIX } from '#api/names.ts'
import { REQUEST_NAMESPACE, all, any, isProgram, operations, quoted, valueOf, type AdmissionPolicy } from './policy.ts'
import { RENDER_PREFIX, RUNS_ONCE, WORKLOAD_FORMS } from './workload-forms.ts'
import { formHolds, formVariables } from './workload-policies.ts'

const form = WORKLOAD_FORMS.renders

const isInput = all(
  `object.?immutable.orValue(false)`,
  `object.metadata.?ownerReferences.orValue([]).size() == 1`,
  `object.metadata.ownerReferences[0].kind == 'Job'`,
  `object.metadata.ownerReferences[0].name.startsWith(${quoted(RENDER_PREFIX)})`,
)

const isResource = (group: string, resource: string): string =>
  all(`request.resource.group == ${quoted(group)}`, `request.resource.resource == ${quoted(resource)}`)
const IS_JOB = isResource('batch', 'jobs')

/** The one exception of kubenode-accounts and kubenode-declared in this namespace; the policy below says what it is. */
export const makesRender = all(
  `${REQUEST_NAMESPACE} == ${quoted(RENDER_NAMESPACE)}`,
  isProgram('sync'),
  any(IS_JOB, isResource('', 'configmaps')),
)

const ofJobs = (expression: string): string => any(`!(${IS_JOB})`, expression)
const ONLY = `in namespace ${RENDER_NAMESPACE} sync makes Jobs that render a commit, and nothing else`

export const renderPolicy: AdmissionPolicy = {
  name: form.policy,
  rules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: ['*/*'] }],
  namespaces: [RENDER_NAMESPACE],
  matchConditions: [
    {
      name: 'sync-or-a-source',
      expression: any(isProgram('sync'), `request.userInfo.username.startsWith(${quoted(SOURCE_USER_PREFIX)})`),
    },
  ],
  variables: formVariables(form),
  validations: [
    {
      expression: all(makesRender, operations('CREATE'), `!has(request.subResource) || request.subResource == ''`),
      message: `${ONLY}; no commit declares anything there`,
    },
    {
      expression: all(
        `object.metadata.?name.orValue('').startsWith(${quoted(RENDER_PREFIX)})`,
        `${valueOf('object', 'labels', LABELS.render)} != ''`,
        ...[ANNOTATIONS.commit, ANNOTATIONS.source].map((key) => `${valueOf('object', 'annotations', key)} == ''`),
      ),
      message: `${ONLY}; no commit declares anything there`,
    },
    { expression: ofJobs(all(...RUNS_ONCE)), message: `${ONLY}: one pod, once, with an end` },
    ...formHolds(form).map(({ what, expression }) => ({
      expression: ofJobs(expression),
      message: `${ONLY}: without a token, rights or what is of the node; this one differs in: ${what}`,
    })),
    { expression: any(IS_JOB, isInput), message: `${ONLY}: the input of one, which never changes and goes with it` },
  ],
}
