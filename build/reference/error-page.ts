// The page of all numbered errors, collected from the tables of the parts, and the range of numbers that each part has.
import { agentErrors } from '#agent/agent-errors.ts'
import { apiErrors } from '#api/api-errors.ts'
import { apiserverErrors } from '#apiserver/apiserver.ts'
import { approverErrors } from '#controllers/approver/approver-errors.ts'
import { remedyjobErrors } from '#controllers/remedyjob/remedyjob-errors.ts'
import { defenderErrors } from '#defender/defender-errors.ts'
import { apiRefusals } from '#kube/api-refusals.ts'
import { kubeErrors } from '#kube/kube-errors.ts'
import { kubeconfigErrors } from '#kube/kubeconfig-errors.ts'
import type { ErrorCode, ErrorText } from '#lib/error-table.ts'
import { libErrors } from '#lib/lib-errors.ts'
import { localErrors } from '#programs/local/local-errors.ts'
import { declaredErrors } from '#declared/declared-errors.ts'
import { deliveryErrors } from '#delivery/delivery-errors.ts'
import { secretsErrors } from '#identity/secrets/secrets-errors.ts'
import { consoleErrors } from '#console/server/console-errors.ts'
import { artifactsErrors } from '#artifacts/artifacts-errors.ts'
import { ociErrors } from '#artifacts/oci/oci-errors.ts'
import { policyErrors } from '#policy/policy-errors.ts'
import { providersErrors } from '#providers/providers-errors.ts'
import { runtimeErrors } from '#runtime/runtime-errors.ts'
import { schemaErrors } from '#api/schema/schema-errors.ts'
import { syncErrors } from '#sync/sync-errors.ts'
import { approveErrors } from '#cli/commands/rollout/approve-errors.ts'
import { artifactErrors } from '#artifacts/authoring/artifact-errors.ts'
import { terminalErrors } from '#lib/terminal/terminal-errors.ts'
import { bundleErrors } from '#agent/join/bundle-errors.ts'
import { embeddedErrors } from '#controlplanes/embedded/embedded-errors.ts'
import { versionErrors } from '#controlplanes/embedded/version-errors.ts'
import { debianErrors } from '#providers/nspawn/debian-errors.ts'
import { componentTarErrors } from '#artifacts/oci/component-tar-errors.ts'
import { serverKeysErrors } from '#lib/x509/server-keys-errors.ts'
import { cliErrors } from '#cli/cli-errors.ts'
import { consoleRepositoryErrors } from '#console/repository/repository-errors.ts'
import { editsErrors } from '#cli/commands/rollout/edits-errors.ts'
import { exploreErrors } from '#cli/fleet/explore-errors.ts'
import { planErrors } from '#forecast/plan/plan-errors.ts'
import { getErrors } from '#cli/get/get-errors.ts'
import { holdErrors } from '#cli/commands/repair/hold-errors.ts'
import { clusterErrors } from '#cli/fleet/cluster-errors.ts'
import { maintenanceErrors } from '#nodes/faults/maintenance-errors.ts'
import { imageErrors } from '#install/image/image-errors.ts'
import { initErrors } from '#install/init/init-errors.ts'
import { inspectErrors } from '#explain/objects/objects-errors.ts'
import { installErrors } from '#install/install-errors.ts'
import { lintErrors } from '#forecast/lint/lint-errors.ts'
import { logsErrors } from '#cli/follow/log-errors.ts'
import { machinesErrors } from '#agent/join/machines-errors.ts'
import { rolloutErrors } from '#explain/rollout/rollout-errors.ts'
import { providerErrors } from '#providers/remote/provider-errors.ts'
import { rulesErrors } from '#forecast/rules/rules-errors.ts'
import { serverErrors } from '#programs/server-errors.ts'
import { runErrors } from '#programs/run/run-errors.ts'
import { repairErrors } from '#cli/commands/repair/repair-errors.ts'

type Entries = Readonly<Record<string, ErrorText & { readonly code: ErrorCode }>>

export interface ErrorPart {
  /** In thousands: 8 owns the 8,000s, 10 the 10,000s. */
  readonly thousands: number
  readonly name: string
  readonly tables: readonly Entries[]
}

const CLI_TABLES: readonly Entries[] = [
  approveErrors,
  artifactErrors,
  cliErrors,
  consoleRepositoryErrors,
  editsErrors,
  exploreErrors,
  planErrors,
  getErrors,
  holdErrors,
  clusterErrors,
  maintenanceErrors,
  imageErrors,
  initErrors,
  inspectErrors,
  installErrors,
  lintErrors,
  logsErrors,
  machinesErrors,
  providerErrors,
  rolloutErrors,
  rulesErrors,
  runErrors,
  repairErrors,
]

export const BENCH_PART = { thousands: 9, name: 'test bench' } as const

export const ERROR_PARTS: readonly ErrorPart[] = [
  {
    thousands: 1,
    name: 'command line, input, local fleet',
    tables: [
      libErrors,
      terminalErrors,
      serverErrors,
      ...CLI_TABLES,
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

export const ERROR_PAGE = 'docs/reference/errors.md'

export const entriesOf = ({ tables }: ErrorPart) =>
  tables.flatMap((t) => Object.values(t)).toSorted((a, b) => Number(a.code.slice(2)) - Number(b.code.slice(2)))

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ').replaceAll('<', '&lt;')

export function errorPage(parts: readonly ErrorPart[]): string {
  const sections = parts.map((part) => {
    const rows = entriesOf(part).map(({ code, text, next }) => `| ${code} | ${cell(text)} | ${cell(next)} |`)
    const title = `${part.name[0]?.toUpperCase()}${part.name.slice(1)} (KN${part.thousands}xxx)`
    return [`## ${title}`, '', '| number | message | what to do |', '| --- | --- | --- |', ...rows].join('\n')
  })
  return `${[
    '# Errors',
    '<!-- Generated from the error tables in src by npm run gen. -->',
    'Every error of KubeNode has a number that does not change. Words in braces are placeholders for observed values. ' +
      'The message is followed by what to do next; findings of `kubenode lint` add the place in the file.',
    ...sections,
  ].join('\n\n')}\n`
}
