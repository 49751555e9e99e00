// Every numbered error of the programs, from the tables of the rooms, by the range of numbers that each part has.
import { agentErrors } from '#agent/agent-errors.ts'
import { bundleErrors } from '#agent/join/bundle-errors.ts'
import { machinesErrors } from '#agent/join/machines-errors.ts'
import { apiErrors } from '#api/api-errors.ts'
import { schemaErrors } from '#api/schema/schema-errors.ts'
import { apiserverErrors } from '#apiserver/apiserver.ts'
import { artifactsErrors } from '#artifacts/artifacts-errors.ts'
import { artifactErrors } from '#artifacts/authoring/artifact-errors.ts'
import { componentTarErrors } from '#artifacts/oci/component-tar-errors.ts'
import { ociErrors } from '#artifacts/oci/oci-errors.ts'
import { consoleRepositoryErrors } from '#console/repository/repository-errors.ts'
import { consoleErrors } from '#console/server/console-errors.ts'
import { approverErrors } from '#controllers/approver/approver-errors.ts'
import { remedyjobErrors } from '#controllers/remedyjob/remedyjob-errors.ts'
import { embeddedErrors } from '#controlplanes/embedded/embedded-errors.ts'
import { versionErrors } from '#controlplanes/embedded/version-errors.ts'
import { declaredErrors } from '#declared/declared-errors.ts'
import { defenderErrors } from '#defender/defender-errors.ts'
import { deliveryErrors } from '#delivery/delivery-errors.ts'
import { inspectErrors } from '#explain/objects/objects-errors.ts'
import { rolloutErrors } from '#explain/rollout/rollout-errors.ts'
import { lintErrors } from '#forecast/lint/lint-errors.ts'
import { planErrors } from '#forecast/plan/plan-errors.ts'
import { rulesErrors } from '#forecast/rules/rules-errors.ts'
import { secretsErrors } from '#identity/secrets/secrets-errors.ts'
import { imageErrors } from '#install/image/image-errors.ts'
import { initErrors } from '#install/init/init-errors.ts'
import { installErrors } from '#install/install-errors.ts'
import { apiRefusals } from '#kube/api-refusals.ts'
import { kubeErrors } from '#kube/kube-errors.ts'
import { kubeconfigErrors } from '#kube/kubeconfig-errors.ts'
import { libErrors } from '#lib/lib-errors.ts'
import { terminalErrors } from '#lib/terminal/terminal-errors.ts'
import { serverKeysErrors } from '#lib/x509/server-keys-errors.ts'
import { maintenanceErrors } from '#nodes/faults/maintenance-errors.ts'
import { policyErrors } from '#policy/policy-errors.ts'
import { debianErrors } from '#providers/nspawn/debian-errors.ts'
import { providersErrors } from '#providers/providers-errors.ts'
import { providerErrors } from '#providers/remote/provider-errors.ts'
import { runtimeErrors } from '#runtime/runtime-errors.ts'
import { syncErrors } from '#sync/sync-errors.ts'
import { localErrors } from './local/local-errors.ts'
import { runErrors } from './run/run-errors.ts'
import { serverErrors } from './server-errors.ts'
import type { ErrorCode, ErrorText } from '#lib/error-table.ts'

export type Entries = Readonly<Record<string, ErrorText & { readonly code: ErrorCode }>>

export interface ErrorPart {
  /** In thousands: 8 owns the 8,000s, 10 the 10,000s. */
  readonly thousands: number
  readonly name: string
  readonly tables: readonly Entries[]
}

export const PROGRAM_ERRORS: readonly ErrorPart[] = [
  {
    thousands: 1,
    name: 'command line, input, local fleet',
    tables: [
      libErrors,
      terminalErrors,
      serverErrors,
      artifactErrors,
      consoleRepositoryErrors,
      planErrors,
      maintenanceErrors,
      imageErrors,
      initErrors,
      inspectErrors,
      installErrors,
      lintErrors,
      machinesErrors,
      providerErrors,
      rolloutErrors,
      rulesErrors,
      runErrors,
      bundleErrors,
      embeddedErrors,
      versionErrors,
      debianErrors,
      localErrors,
    ],
  },
  { thousands: 2, name: 'Kubernetes client', tables: [kubeErrors, kubeconfigErrors, apiRefusals] },
  { thousands: 3, name: 'runtime, operations on nodes', tables: [runtimeErrors, declaredErrors, secretsErrors] },
  { thousands: 4, name: 'rules', tables: [policyErrors] },
  { thousands: 5, name: 'kinds and schemas', tables: [apiErrors, schemaErrors] },
  { thousands: 6, name: 'embedded API server', tables: [apiserverErrors, serverKeysErrors] },
  { thousands: 7, name: 'sync', tables: [syncErrors, deliveryErrors] },
  { thousands: 8, name: 'agent', tables: [agentErrors, componentTarErrors] },
  { thousands: 10, name: 'Defender', tables: [defenderErrors] },
  { thousands: 11, name: 'infra providers', tables: [providersErrors] },
  { thousands: 12, name: 'controllers', tables: [remedyjobErrors, approverErrors] },
  { thousands: 13, name: 'images', tables: [ociErrors] },
  { thousands: 14, name: 'artifacts', tables: [artifactsErrors] },
  { thousands: 16, name: 'console', tables: [consoleErrors] },
]
