// The attacker writes a commit that is rendered and applied: what it declares is checked before a server receives it, and a fleet gets no rights.
import { createValidator } from '#api/validate.ts'
import { messageOf } from '#lib/errors.ts'
import { checkRendered } from '#sync/render/rendered.ts'
import { type Answer, type Attempt, type AttackWorld, tryHere, tryOnServers } from '#test/support/attack-world.ts'

const configMap = (metadata: object) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata })

/** What a commit gets to read when its fleet renders these objects. */
const render =
  (...objects: readonly unknown[]) =>
  async (): Promise<Answer> => {
    try {
      const targets = checkRendered({ prod: objects }, createValidator())
      const problems = [...targets.values()].flatMap((t) => t.rejected.map((r) => r.problem))
      return { status: 0, text: problems.join('\n') || 'accepted' }
    } catch (e) {
      return { status: 0, text: messageOf(e) }
    }
  }

const nested = (depth: number): unknown => (depth === 0 ? 'x' : { a: nested(depth - 1) })

const RENDERED: readonly Attempt<void>[] = [
  {
    name: 'a name with a newline forges a line of the plan',
    attempt: render(configMap({ name: 'a\n+ everything is fine' })),
    refused: /KN7107.*name/,
  },
  {
    name: 'a key __proto__ reaches code that copies objects',
    attempt: render(JSON.parse('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"__proto__":{"x":1}}')),
    refused: /KN7107.*__proto__/,
  },
  {
    name: 'an object that is too deep for the stack',
    attempt: render({ ...configMap({ name: 'a' }), data: nested(100) }),
    refused: /KN7107.*nested deeper/,
  },
  {
    name: 'the same object twice, the second one as the reviewer does not expect it',
    attempt: render(configMap({ name: 'a', namespace: 'b' }), configMap({ name: 'a', namespace: 'b' })),
    refused: /KN7109.*declared twice/,
  },
  {
    name: 'a kind of our group that does not exist',
    attempt: render({ apiVersion: 'kubenode.io/v1alpha1', kind: 'Root', metadata: { name: 'a' } }),
    refused: /has no kind Root/,
  },
]

const apply =
  (path: string, body: object) =>
  ({ ask, who }: AttackWorld) =>
    ask(who.sync, 'PATCH', `${path}?fieldManager=kubenode-sync`, { body, type: 'application/apply-patch+yaml' })

const RBAC = { apiVersion: 'rbac.authorization.k8s.io/v1' }

const APPLIED: readonly Attempt[] = [
  {
    name: 'S25 a commit declares a role',
    attempt: apply('/apis/rbac.authorization.k8s.io/v1/clusterroles/mine', {
      ...RBAC,
      kind: 'ClusterRole',
      metadata: { name: 'mine' },
      rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
    }),
    refused: 403,
  },
  {
    name: 'S25 a commit declares a Secret',
    attempt: apply('/api/v1/namespaces/shop/secrets/mine', {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'mine' },
      stringData: { a: 'b' },
    }),
    refused: 403,
  },
  {
    name: 'S25 a commit declares a webhook that sees every Secret',
    attempt: apply('/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/mine', {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'mine' },
      webhooks: [],
    }),
    refused: 403,
  },
]

tryHere('the author of a commit, at the render', RENDERED)
tryOnServers('the author of a commit, at the cluster', APPLIED)
