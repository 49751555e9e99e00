// Which way a figure is worse, by its name. Pure.

/** Figures of a run, not of what it measures: how large it was and how busy its machine. Moved, they explain the others and are no worse. */
const CIRCUMSTANCES: ReadonlySet<string> = new Set([
  'asked_rows',
  'batches',
  'burst_written_s',
  'changes_per_s',
  'clusters',
  'components',
  'days',
  'events',
  'fired',
  'kills',
  'load',
  'machines',
  'many',
  'most_at_work',
  'naive_sampled_nodes',
  'nodes',
  'objects',
  'open_slices',
  'permits',
  'planted_s',
  'rest_s',
  'rounds',
  'rows',
  'rules',
  'transitions_per_s',
  'turns',
  'updated',
  'watches_ended',
])
/** Without a unit that says so. */
const MORE_IS_BETTER: ReadonlySet<string> = new Set(['within', 'streams_500_ok', 'builtin_granted'])
/** Of our processor time to the peer's; every other ratio says how many times better ours is. */
const LESS_IS_BETTER: ReadonlySet<string> = new Set(['ratio npd'])

export type Direction = 'Less' | 'More' | 'Neither'

/** Times, sizes and counts of what goes wrong want to be small; rates and ratios to a peer want to be large. */
export function betterWhen(figure: string): Direction {
  if (CIRCUMSTANCES.has(figure) || /^hub_(clusters|objects)$/.test(figure)) return 'Neither'
  if (LESS_IS_BETTER.has(figure)) return 'Less'
  if (MORE_IS_BETTER.has(figure) || figure.startsWith('ratio ')) return 'More'
  return isRate(figure) ? 'More' : 'Less'
}

/** Bytes a second are what a program takes, not what it gets done. */
export const isRate = (figure: string): boolean => figure.endsWith('_per_s') && !figure.includes('bytes')
