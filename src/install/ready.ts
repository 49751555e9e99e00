// Waits until the installation works: pods are ready, each role has a leader, and the Defender's webhook answers.
import { API_GROUP } from '#api/kind.ts'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import { programLeaseName, SYSTEM_NAMESPACE } from '#api/names.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { answerOf } from '#kube/errors.ts'
import { listAll } from '#kube/list-all.ts'
import { outcomeOf } from '#kube/outcome.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { objectKey } from '#api/schema/object-meta.ts'
import { healthOf } from '#delivery/health.ts'
import { until, type InstallContext, type PollResult } from './context.ts'
import { installErrors } from './install-errors.ts'
import { definitionType, deploymentType } from './observe.ts'
import { roleOf } from './phases.ts'
import { podTrouble, refusedPods, waitingPods } from './pod-trouble.ts'
import { COMPONENT, OURS, PART_OF } from './release.ts'

const podType = coreKind('Pod')
const leaseType = coreKind('Lease')
export const webhookConfigurationType = coreKind('ValidatingWebhookConfiguration')

const signalOf = ({ signal }: InstallContext) => (signal === undefined ? {} : { signal })

export const awaitEstablished = (context: InstallContext, definition: KubeObject): Promise<void> =>
  until(context, `customresourcedefinition ${definition.metadata.name}`, async () => {
    const now = await context.client.get(definitionType, objectKey(definition), signalOf(context))
    if (now === undefined) return { waitsFor: 'it is not there' }
    const { state, message } = healthOf(now)
    return state === 'Current' ? { done: undefined } : { waitsFor: message }
  })

const podsOf = (context: InstallContext, role: string, namespace: string): Promise<readonly KubeObject[]> =>
  listAll(context.client, podType, {
    namespace,
    labelSelector: `${PART_OF}=${OURS},${COMPONENT}=${role}`,
    ...signalOf(context),
  })

/** An image that cannot be pulled, or a program that keeps exiting, is reported at once: waiting does not help. */
export const awaitWorkload = (context: InstallContext, workload: KubeObject): Promise<void> =>
  until(context, `deployment ${workload.metadata.name}`, async () => {
    const now = await context.client.get(deploymentType, objectKey(workload), signalOf(context))
    if (now === undefined) return { waitsFor: 'it was deleted' }
    const { state, message } = healthOf(now)
    if (state === 'Current') return { done: undefined }
    const pods = await podsOf(context, roleOf(now), now.metadata.namespace ?? '')
    const trouble = podTrouble(pods, imagesOf(now))
    if (trouble !== undefined) throw new KubeNodeError(trouble)
    const detail = refusedPods(now) ?? waitingPods(pods)
    return { waitsFor: detail === '' ? message : `${message} (${detail})` }
  })

const objectAt = (v: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), v)

function imagesOf(workload: KubeObject): ReadonlySet<string> {
  const spec = objectAt(workload, 'spec', 'template', 'spec')
  const containers = [objectAt(spec, 'initContainers'), objectAt(spec, 'containers')].flatMap((c): unknown[] =>
    Array.isArray(c) ? c : [],
  )
  return new Set(containers.flatMap((c) => (isObject(c) && typeof c['image'] === 'string' ? [c['image']] : [])))
}

/** These elect a leader on their own Lease; `artifacts` has no leader. */
export const LED_ROLES = ['defender', 'controllers', 'approver', 'sync'] as const

/** Requires an observed renewal of the Lease: its timestamp alone comes from another clock. */
export async function awaitLeaders(context: InstallContext, roles: readonly string[]): Promise<void> {
  const first = new Map<string, unknown>()
  const led = new Set<string>()
  await until(context, 'leaders', async (): Promise<PollResult<void>> => {
    for (const role of roles) {
      if (led.has(role)) continue
      const key = { namespace: SYSTEM_NAMESPACE, name: programLeaseName(role) }
      const lease = await context.client.get(leaseType, key, signalOf(context))
      const [holder, renewed] = [objectAt(lease, 'spec', 'holderIdentity'), objectAt(lease, 'spec', 'renewTime')]
      if (typeof holder !== 'string' || holder === '') continue
      if (!first.has(role)) first.set(role, renewed)
      else if (first.get(role) !== renewed) led.add(role)
    }
    const left = roles.filter((r) => !led.has(r))
    return left.length === 0 ? { done: undefined } : { waitsFor: `no leader of ${left.join(', ')} renews its lease` }
  })
}

/** Long enough for a leader's renewal, which happens every few seconds. */
const LEADER_WITHIN_MS = 15_000

/** The roles without a leader. */
export async function leaderless(context: InstallContext, roles: readonly string[]): Promise<readonly string[]> {
  const missing = new Set(roles)
  await Promise.all(
    roles.map((role) =>
      awaitLeaders({ ...context, print: () => undefined, showWait: () => undefined, timeoutMs: LEADER_WITHIN_MS }, [
        role,
      ]).then(
        () => missing.delete(role),
        () => undefined,
      ),
    ),
  )
  return roles.filter((r) => missing.has(r))
}

const WRONG_RULE = { all: [{ fact: 'kubenode-install-asks', path: '/x', operator: 'equal', value: 'True' }] }

/** Valid for the schema but not for the webhook: only a working webhook refuses it. Never stored. */
function wrongRule(): KubeObject {
  const example = nodeRemedier.example as unknown as KubeObject
  const spec = isObject(example['spec']) ? example['spec'] : {}
  return {
    apiVersion: example.apiVersion,
    kind: example.kind,
    metadata: { name: 'kubenode-install-asks' },
    spec: { ...spec, when: WRONG_RULE },
  }
}

/** Undefined if the webhook reviewed the request. */
export async function webhookProblem({ client }: InstallContext): Promise<string | undefined> {
  const outcome = await outcomeOf(() => client.create(nodeRemedier, wrongRule() as never, { dryRun: true }))
  if (outcome.kind === 'Applied') {
    const registered = await client.get(webhookConfigurationType, { name: API_GROUP })
    const what = `validatingwebhookconfiguration ${API_GROUP}`
    return registered === undefined
      ? `the leader of the Defender has not registered it (${what})`
      : `it is registered (${what}), but an invalid rule passed without its review`
  }
  const why = answerOf(outcome.error)
  if (outcome.kind === 'Denied' && /admission webhook .* denied the request/.test(why)) return undefined
  return why
}

/** A webhook registration that no Defender with these settings answers. */
export const isWebhookLeft = async ({ client }: InstallContext): Promise<boolean> =>
  (await client.get(webhookConfigurationType, { name: API_GROUP })) !== undefined

export async function awaitWebhook(context: InstallContext): Promise<void> {
  let why = ''
  try {
    await until(context, 'the webhook of the Defender', async () => {
      const problem = await webhookProblem(context)
      why = problem ?? ''
      return problem === undefined ? { done: undefined } : { waitsFor: problem }
    })
  } catch (error) {
    if (why === '') throw error
    const service = `${WEBHOOK_SERVICE}.${SYSTEM_NAMESPACE}`
    throw new KubeNodeError(installErrors.KN1431({ why, service, namespace: SYSTEM_NAMESPACE }), { cause: error })
  }
}

export const WEBHOOK_SERVICE = 'kubenode-webhook'
