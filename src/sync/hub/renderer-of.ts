// Where this sync renders, by its configuration: determined once, on first use.
import type { Random } from '#lib/random.ts'
import { CAGE_LEVELS, findCage } from '../render/cage.ts'
import { JobRenderer } from '../render/job/job-renderer.ts'
import { processRenderer, type Renderer } from '../render/renderer.ts'
import type { SyncContext } from './context.ts'

const RUN_DIGITS = 16

/** Part of object names; not a secret. */
const newRun = (random: Random): string =>
  Array.from({ length: RUN_DIGITS }, () => random.below(16).toString(16)).join('')

export async function rendererOf({ client, clock, log, random, config }: SyncContext): Promise<Renderer> {
  const { weakCage, caged, jobs, renderer: given } = config
  if (given !== undefined) return given
  if (jobs === undefined) return processRenderer(await findCage(weakCage, CAGE_LEVELS, caged))
  const renderer = new JobRenderer({ client, clock, log, ...jobs, newRun: () => newRun(random) })
  await renderer.sweep()
  return renderer
}
