// `kubenode rules enforce NAME`: what a dry-run rule would have done so far, and the commit that lets it repair.
import { nodeRemedier, type NodeRemedier } from '#api/kinds/node-remedier.ts'
import { remedyOperationJob, type RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { operationName } from '#api/protocol/operations.ts'
import { counted } from '#lib/counted.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { listAll } from '#kube/list-all.ts'
import { type ServerOptions, connect } from '../../fleet/connect.ts'
import { enforceStep } from '#console/repository/steps.ts'
import { findObject } from '#explain/objects/find-object.ts'
import { placeOf } from '#explain/objects/place.ts'
import type { Io } from '#lib/terminal/io.ts'
import { type CopyOptions, proposeEdits } from '#console/repository/propose.ts'
import { shownInWindow } from '#lib/terminal/wrap.ts'
import { rulesErrors } from '#forecast/rules/rules-errors.ts'

export interface EnforceOptions extends ServerOptions, CopyOptions {
  readonly stage?: string
}

export async function enforce(name: string, options: EnforceOptions, io: Io): Promise<void> {
  const client = await connect(options, io)
  const [rule, jobs] = await Promise.all([
    findObject(client, nodeRemedier, name, 'remedier'),
    listAll(client, remedyOperationJob),
  ])
  io.out(shownInWindow(io, dryRunLines(rule, jobs, placeOf(client))))
  const found = await proposeEdits(
    {
      what: `remedier/${name} enforces`,
      subject: `rules: enforce ${name}`,
      steps: [enforceStep({ rule: name, stage: options.stage })],
    },
    options,
    io,
  )
  if (found) return
  if (rule.spec.mode === 'Enforce' && options.stage === undefined) {
    io.err(`remedier/${name} enforces already in this cluster\n`)
    return
  }
  const where = options.stage === undefined ? '' : ` in stage ${options.stage}`
  throw new KubeNodeError(rulesErrors.KN1384_remedier({ name, where }))
}

const WITHOUT_DRY_RUNS: Readonly<Record<NodeRemedier['spec']['mode'], string>> = {
  Enforce: '  it enforces here and so makes no dry runs; those of another cluster are shown with --context',
  Shadow: '  it only counts here and so makes no dry runs: what it would have repaired is not on record',
  DryRun: '  no dry run is on record: it would have repaired nothing lately',
}

/** The newest ones, so that a reader can check a few. */
const MOST_EXAMPLES = 5

/** Incident records are kept for a day after they close, so this is not a count over weeks. */
function dryRunLines(rule: NodeRemedier, all: readonly RemedyOperationJob[], place: string): readonly string[] {
  const { name = '' } = rule.metadata
  const jobs = all
    .filter(({ spec }) => spec.dryRun && spec.remedierRef.name === name)
    .toSorted((a, b) => (timeOf(a) < timeOf(b) ? 1 : -1))
  const { matching = 0, unknown = 0, selected = 0 } = rule.status?.counts ?? {}
  const nodes = new Set(jobs.map((j) => j.spec.node.name)).size
  return [
    `remedier/${name} in ${place}: mode ${rule.spec.mode}; true for ${matching} of ${counted(selected, 'node')} now${unknown > 0 ? `, unknown for ${unknown}` : ''}`,
    jobs.length === 0
      ? WITHOUT_DRY_RUNS[rule.spec.mode]
      : `  dry runs on record: ${jobs.length} on ${counted(nodes, 'node')}, ${timeOf(jobs.at(-1))} to ${timeOf(jobs[0])}`,
    ...jobs
      .slice(0, MOST_EXAMPLES)
      .map(
        ({ spec, ...job }) =>
          `  ${timeOf({ spec, ...job })} node ${spec.node.name}: would have run ${operationsOf(spec)} (rung ${spec.rung})`,
      ),
    ...(jobs.length > MOST_EXAMPLES ? [`  and ${jobs.length - MOST_EXAMPLES} more: kubenode get jobs`] : []),
  ]
}

const operationsOf = ({ operations }: RemedyOperationJob['spec']): string =>
  operations.map((o) => operationName(o) ?? 'an operation of a later version').join(', ')

const timeOf = (job: RemedyOperationJob | undefined): string => job?.metadata.creationTimestamp ?? ''
