// The namespace in which our own namespaced objects live, and the accounts of our programs for those who run them as pods.
import { ApiObject, Chart } from 'cdk8s'
import type { Construct } from 'constructs'
import {
  CLUSTERS_NAMESPACE,
  JOIN_NAMESPACE,
  PROBES_NAMESPACE,
  programAccount,
  programUser,
  REVOKED_AGENTS,
  SYSTEM_NAMESPACE,
  WEBHOOK_NAMESPACE,
} from '#api/names.ts'

export const PROGRAMS = ['sync', 'controllers', 'approver', 'defender'] as const
export type Program = (typeof PROGRAMS)[number]

/** The user in a program's client certificate, and its service account where it runs as a pod. */
export const userOf = (program: Program): string => programUser(program)
export const accountOf = (program: Program): string => `kubenode-${program}`
export const accountUserOf = (program: Program): string => programAccount(program)

export class SystemChart extends Chart {
  constructor(scope: Construct) {
    super(scope, 'system')
    new ApiObject(this, 'namespace', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SYSTEM_NAMESPACE } })
    new ApiObject(this, 'probes', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: PROBES_NAMESPACE, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
    })
    for (const name of [CLUSTERS_NAMESPACE, WEBHOOK_NAMESPACE, JOIN_NAMESPACE])
      new ApiObject(this, name, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
    // Without data: that belongs to the approver, and applying this file again leaves it alone.
    new ApiObject(this, 'revoked-agents', {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: REVOKED_AGENTS, namespace: SYSTEM_NAMESPACE },
    })
    for (const program of PROGRAMS)
      new ApiObject(this, program, {
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { name: accountOf(program), namespace: SYSTEM_NAMESPACE },
      })
  }
}
