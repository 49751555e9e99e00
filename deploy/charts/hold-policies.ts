// Who writes holds: people in their own name, and no one allows an edit of what git declares without that right. At night a hold's author is who is called.
import { API_GROUP } from '#api/kind.ts'
import { all, any, isProgram, quoted, type AdmissionPolicy, type AdmissionRule } from './policy.ts'

const WRITTEN: readonly AdmissionRule[] = [
  { apiGroups: [API_GROUP], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: ['operationalholds'] },
]

/** Who changes the reason or the end of a hold puts their own name under it. */
const authors: AdmissionPolicy = {
  name: 'kubenode-holds',
  rules: WRITTEN,
  matchConditions: [{ name: 'not-of-a-leaving-cluster', expression: `!(${isProgram('cluster')})` }],
  variables: [],
  validations: [
    {
      expression: any(
        'object.spec.author == request.userInfo.username',
        all('oldObject != null', 'object.spec == oldObject.spec'),
      ),
      message:
        'spec.author must be who makes the hold, or changes it; kubectl auth whoami prints your name, and the commands of kubenode fill it in',
    },
  ],
}

/** The right to pause a rollout does not include the right to roll out what git does not declare. */
const allowedEdits: AdmissionPolicy = {
  name: 'kubenode-edits',
  rules: WRITTEN,
  matchConditions: [{ name: 'allows-an-edit', expression: `object.spec.effect == 'AllowEdit'` }],
  variables: [],
  validations: [
    {
      expression: `authorizer.group(${quoted(API_GROUP)}).resource('operationalholds').subresource('allowedit').check('create').allowed()`,
      message: 'a hold AllowEdit needs the right to create operationalholds/allowedit',
    },
  ],
}

export const holdPolicies: readonly AdmissionPolicy[] = [authors, allowedEdits]
