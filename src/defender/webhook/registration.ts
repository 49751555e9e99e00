// The ValidatingWebhookConfiguration: our kinds, guarded deletions, the approver's approvals, and agents' events. Our kinds use Ignore on failure: an
// unavailable Defender must not keep people from changing what they declared. The schema still applies, and controllers check again and report.
import { API_GROUP, API_VERSION } from '#api/kind.ts'
import { AGENT_ACCOUNTS_GROUP, AGENTS_GROUP, agentUser, programAccount, programUser } from '#api/names.ts'
import { KINDS } from '#api/kinds.ts'
import type { BuiltIn } from '#kube/built-in.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { GUARDED_KINDS, type GuardedKind } from '../guard/guarded-kinds.ts'
import { type Door, pathOf } from './secret-paths.ts'

export const webhookConfigurationType = coreKind('ValidatingWebhookConfiguration')

export const WEBHOOK_CONFIGURATION = 'kubenode.io'

/** Written by the Defender, or by controllers on every step. These programs check their own writes. */
const NOT_ASKED: ReadonlySet<string> = new Set(['DefenderLedger', 'Inventory'])

/** The port of the Service in front of the replicas. */
const SERVICE_PORT = 443

/** A URL without a path, or a Service. */
export type WebhookAddress = string | { readonly namespace: string; readonly name: string }

/** `token` is the secret part of the paths: a client that may read this object may call the webhook. */
export const webhookConfiguration = (
  address: WebhookAddress,
  ca: string,
  token: string,
): BuiltIn['ValidatingWebhookConfiguration'] => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: webhookConfigurationType.kind,
  metadata: { name: WEBHOOK_CONFIGURATION },
  webhooks: [
    {
      name: 'kinds.kubenode.io',
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
      failurePolicy: 'Ignore',
      timeoutSeconds: 5,
      matchPolicy: 'Equivalent',
      clientConfig: clientConfig('kinds', address, ca, token),
      rules: [
        {
          apiGroups: [API_GROUP],
          apiVersions: [API_VERSION],
          operations: ['CREATE', 'UPDATE'],
          resources: KINDS.filter((k) => !NOT_ASKED.has(k.kind))
            .map((k) => k.plural)
            .toSorted(),
          scope: '*',
        },
      ],
    },
    ...GUARDED_KINDS.map((guarded) => guardWebhook(guarded, clientConfig('deletions', address, ca, token))),
    approvalWebhook(clientConfig('certificates', address, ca, token)),
    agentEventWebhook(clientConfig('events', address, ca, token)),
  ],
})

const clientConfig = (door: Door, address: WebhookAddress, ca: string, token: string) => ({
  ...(typeof address === 'string'
    ? { url: `${address}${pathOf(token, door)}` }
    : {
        service: { namespace: address.namespace, name: address.name, path: pathOf(token, door), port: SERVICE_PORT },
      }),
  caBundle: Buffer.from(ca).toString('base64'),
})

const guardWebhook = (
  { group, plural, whenDown, only, unless }: GuardedKind,
  config: ReturnType<typeof clientConfig>,
) => ({
  name: `${plural}.deletions.kubenode.io`,
  admissionReviewVersions: ['v1'],
  // Counting is a side effect. A dry run is not counted.
  sideEffects: 'NoneOnDryRun',
  failurePolicy: whenDown,
  timeoutSeconds: 10,
  matchPolicy: 'Equivalent',
  // Our own programs are reviewed like all clients: they pass only with a permit for this exact object.
  ...((only !== undefined || unless !== undefined) && {
    matchConditions: [
      ...(only === undefined ? [] : [{ name: 'guarded', expression: only }]),
      ...(unless === undefined ? [] : [{ name: 'not-by-git', expression: `!(${unless})` }]),
    ],
  }),
  clientConfig: config,
  rules: [{ apiGroups: [group], apiVersions: ['*'], operations: ['DELETE'], resources: [plural], scope: '*' }],
})

const APPROVER = [programUser('approver'), programAccount('approver')].map((user) => `'${user}'`).join(', ')

/**
 * Fails closed while the Defender is unavailable: agents renew days before expiry, and a join can wait. Approvals by other clients are not reviewed.
 */
const approvalWebhook = (config: ReturnType<typeof clientConfig>) => ({
  name: 'certificates.kubenode.io',
  admissionReviewVersions: ['v1'],
  sideEffects: 'None',
  failurePolicy: 'Fail',
  timeoutSeconds: 10,
  matchPolicy: 'Equivalent',
  matchConditions: [{ name: 'the-approver', expression: `request.userInfo.username in [${APPROVER}]` }],
  clientConfig: config,
  rules: [
    {
      apiGroups: ['certificates.k8s.io'],
      apiVersions: ['*'],
      operations: ['UPDATE'],
      resources: ['certificatesigningrequests/approval'],
      scope: '*',
    },
  ],
})

/**
 * Fails closed while the Defender is unavailable: agents' events are lost then, and nothing waits for one. Heartbeats and conditions are not
 * reviewed.
 */
const agentEventWebhook = (config: ReturnType<typeof clientConfig>) => ({
  name: 'events.kubenode.io',
  admissionReviewVersions: ['v1'],
  sideEffects: 'None',
  failurePolicy: 'Fail',
  timeoutSeconds: 5,
  matchPolicy: 'Equivalent',
  matchConditions: [
    {
      name: 'an-agent',
      expression: `[${[AGENTS_GROUP, AGENT_ACCOUNTS_GROUP].map((g) => `'${g}'`).join(', ')}].exists(g, g in request.userInfo.groups) || request.userInfo.username.startsWith('${agentUser('')}')`,
    },
  ],
  clientConfig: config,
  rules: [
    {
      apiGroups: ['events.k8s.io'],
      apiVersions: ['*'],
      operations: ['CREATE', 'UPDATE'],
      resources: ['events'],
      scope: '*',
    },
  ],
})
