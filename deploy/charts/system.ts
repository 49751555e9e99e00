// The namespace in which our own namespaced objects live, and the accounts of our programs for those who run them as pods.
import { Chart } from 'cdk8s'
import { k8s } from 'cdk8s-plus-27'
import type { Construct } from 'constructs'
import {
  ACCEPTANCE_NAMESPACE,
  AGENTS_NAMESPACE,
  metricsSecretName,
  OWN_NAMESPACES,
  programAccount,
  programUser,
  REVOKED_AGENTS,
  SYSTEM_NAMESPACE,
} from '#api/names.ts'
import { commonLabels, PART_OF, podSecurity, RESTRICTED } from './labels.ts'
import type { InstallSettings } from './settings.ts'

export const PROGRAMS = ['sync', 'controllers', 'approver', 'defender', 'cluster', 'history'] as const
export type Program = (typeof PROGRAMS)[number]

/** The user in a program's client certificate, and its service account where it runs as a pod. */
export const userOf = (program: Program): string => programUser(program)
export const accountOf = (program: Program): string => `kubenode-${program}`
/** The one that serves files to hosts leads nothing and has no certificate of its own. */
export const ARTIFACTS_ACCOUNT = 'kubenode-artifacts'
/** The page leads nothing, too. */
export const CONSOLE_ACCOUNT = 'kubenode-console'
/** Programs that run as pods and serve metrics there. */
export const METERED = [
  'sync',
  'controllers',
  'approver',
  'defender',
  'cluster',
  'artifacts',
  'history',
  'console',
  'hosted',
] as const
const ACCOUNTS: readonly string[] = [...PROGRAMS.map(accountOf), ARTIFACTS_ACCOUNT, CONSOLE_ACCOUNT]
export const accountUserOf = (program: Program): string => programAccount(program)

export class SystemChart extends Chart {
  /** With settings, for those who run the programs as pods. */
  constructor(scope: Construct, settings?: Pick<InstallSettings, 'version' | 'acceptancePods'>) {
    super(scope, 'system', { disableResourceNameHashes: true })
    const { version, acceptancePods = 'baseline' } = settings ?? {}
    const securityOf = (name: string) => (name === ACCEPTANCE_NAMESPACE ? podSecurity(acceptancePods) : RESTRICTED)
    const labels = version === undefined ? PART_OF : commonLabels(version)
    for (const name of OWN_NAMESPACES)
      new k8s.KubeNamespace(this, name, { metadata: { name, labels: { ...labels, ...securityOf(name) } } })
    // Beside the policy of this namespace: a cluster without policies would refuse pods there all the same.
    new k8s.KubeResourceQuota(this, 'no-pods', {
      metadata: { name: 'no-pods', namespace: AGENTS_NAMESPACE, labels },
      spec: { hard: { 'count/pods': k8s.Quantity.fromString('0') } },
    })
    // Without data: that belongs to the approver, and applying this file again leaves it alone.
    new k8s.KubeConfigMap(this, 'revoked-agents', {
      metadata: { name: REVOKED_AGENTS, namespace: SYSTEM_NAMESPACE, labels },
    })
    // Without data, too. Their type cannot change, so no program can turn one into the token of an account.
    for (const program of METERED)
      new k8s.KubeSecret(this, metricsSecretName(program), {
        metadata: { name: metricsSecretName(program), namespace: SYSTEM_NAMESPACE, labels },
        type: 'Opaque',
      })
    for (const account of ACCOUNTS)
      new k8s.KubeServiceAccount(this, account, {
        metadata: { name: account, namespace: SYSTEM_NAMESPACE, labels },
        // Pods name the one token that they get.
        automountServiceAccountToken: false,
      })
  }
}
