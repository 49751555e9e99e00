// The admission policy for owners. A client that may write an owner reference can have an object deleted, since the garbage collector deletes dependents of an
// owner that was deleted or never existed. Our programs may therefore name only our own kinds as owners, and only on objects that ours do own.
import { API_GROUP } from '#api/kind.ts'
import { isOurProgram } from './account-policies.ts'
import { makesRender } from './render-policy.ts'
import { all, any, LEASES, operations, part, quoted, type AdmissionPolicy } from './policy.ts'

const OWNERS = 'object.metadata.?ownerReferences.orValue([])'

const mayDelete = `authorizer.group(request.resource.group).resource(request.resource.resource).namespace(${part('namespace')}).name(request.name).check('delete').allowed()`

/** The registration of the webhook ends with the role that could serve it, so that kubectl delete -f of an installation ends. */
const roleOwnsRegistration = all(
  `request.resource.group == 'admissionregistration.k8s.io'`,
  `request.resource.resource == 'validatingwebhookconfigurations'`,
  `object.metadata.name == ${quoted(API_GROUP)}`,
  `o.apiVersion == 'rbac.authorization.k8s.io/v1'`,
  `o.kind == 'ClusterRole'`,
  `o.name == 'kubenode:defender'`,
)

const owners: AdmissionPolicy = {
  name: 'kubenode-owners',
  rules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: ['*/*'] }],
  // A program writes its own Lease alone (kubenode-leaders), and an agent sets no owners (kubenode-agents).
  except: [LEASES],
  matchConditions: [
    { name: 'a-program', expression: isOurProgram },
    // The input of a render goes with its Job; policy kubenode-render holds both.
    { name: 'no-new-input-of-a-render', expression: `!(${all(makesRender, operations('CREATE'))})` },
    { name: 'with-owners', expression: `object != null && has(object.metadata) && ${OWNERS}.size() > 0` },
  ],
  variables: [
    {
      name: 'added',
      expression: `${OWNERS}.filter(o, !(${roleOwnsRegistration}) && (oldObject == null || !(o in oldObject.metadata.?ownerReferences.orValue([]))))`,
    },
  ],
  validations: [
    {
      expression: `variables.added.all(o, o.apiVersion.startsWith(${quoted(`${API_GROUP}/`)}))`,
      message: `a KubeNode program names owners only of kinds of ${API_GROUP}`,
    },
    {
      expression: `variables.added.size() == 0 || !(${all(`request.resource.group == ''`, `request.resource.resource in ['nodes', 'namespaces']`)})`,
      message: 'a KubeNode program sets no owner on a Node or a namespace',
    },
    {
      // The collector would delete it for the program.
      expression: any('oldObject == null', 'variables.added.size() == 0', mayDelete),
      message: 'a KubeNode program sets owners only on what it may delete itself',
    },
  ],
}

export const ownerPolicies: readonly AdmissionPolicy[] = [owners]
