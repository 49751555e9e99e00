// `kubenode plan`: what a commit would change, cluster by cluster. Renders two commits in the cage and compares them, without contacting a cluster.
import { type Command, InvalidArgumentError, Option } from 'commander'
import { KubeNodeError } from '#lib/errors.ts'
import { FAIL_ON, type FailOn } from '#forecast/plan/fail-on.ts'
import { LEAST_CHARS } from '#forecast/plan/least-chars.ts'
import { noRange, rangeOf } from '#forecast/plan/range.ts'
import type { PlanAsked } from '#forecast/plan/plan-seen.ts'
import type { Io } from '#lib/terminal/io.ts'
import { getErrors } from '../../get/get-errors.ts'
import { wholeNumber } from '../../counted-option.ts'
import { outputOption } from '../../output.ts'
import { weakCageOption, weakCageNote } from '../../weak-cage.ts'

type PlanOptions = Omit<PlanAsked, 'weakCageNote'>

/** GitHub takes 65,536 characters; the rest is for the job that posts it. */
const MAX_CHARS = 60_000

export function register(program: Command, io: Io): void {
  program
    .command('plan')
    .description('show what a commit changes in each cluster, without touching any')
    .argument(
      '[range]',
      'BASE..HEAD, in place of --base and --commit; BASE...HEAD: what HEAD changed since it left BASE',
    )
    .option('--commit <rev>', 'the commit to plan', 'HEAD')
    .option(
      '--base <rev>',
      'the commit or branch to compare with, such as main or HEAD~2; its first parent when left out, with --dirty the commit itself',
    )
    .option('--dirty', 'plan the edits of the work tree as if they were committed')
    .option('--cluster <name>', 'only this cluster')
    .option('--repo <dir>', 'the repository; the one around the current folder when left out')
    .option('--path <dir>', 'folder of the fleet in the repository', '.')
    .option(
      '--inventory <file>',
      'predict machines, steps and times from this file of kubenode inventory export; once for each cluster',
      (file: string, before: readonly string[] | undefined) => [...(before ?? []), file],
    )
    .addOption(outputOption(['text', 'markdown', 'json']).default('text'))
    .addOption(
      new Option('--max-chars <number>', 'longest text of -o markdown; it leaves out more until it fits')
        .argParser(wholeNumber(LEAST_CHARS))
        .default(MAX_CHARS),
    )
    .option('--marker <text>', 'first line of -o markdown, by which a comment is found again', 'kubenode-plan')
    .addOption(
      new Option('--fail-on <what>', `exit with 1 for any of these, joined by commas: ${FAIL_ON.join(', ')}`).argParser(
        failOnOf,
      ),
    )
    .option('--detailed-exitcode', 'exit with 1 when something changes (2 is an error, as always)')
    .addOption(weakCageOption())
    .action((range: string | undefined, options: PlanOptions) => plan(withRange(options, range), io))
}

function failOnOf(text: string): readonly FailOn[] {
  return text.split(',').map((word) => {
    const found = FAIL_ON.find((f) => f === word.trim())
    if (found === undefined) throw new InvalidArgumentError(`Allowed choices are ${FAIL_ON.join(', ')}.`)
    return found
  })
}

function withRange(options: PlanOptions, range: string | undefined): PlanOptions {
  if (range === undefined) return options
  const { base, head, isFromFork } = rangeOf(range)
  if (options.base !== undefined || options.commit !== 'HEAD') throw noRange(range)
  return { ...options, base, commit: head, isFromFork }
}

async function plan(options: PlanOptions, io: Io): Promise<void> {
  if (options.dirty === true && options.commit !== 'HEAD')
    throw new KubeNodeError(getErrors.KN1002_combined({ one: '--dirty', other: '--commit' }))
  const { showPlan } = await import('#forecast/plan/show-plan.ts')
  await showPlan({ ...options, weakCageNote }, io)
}
