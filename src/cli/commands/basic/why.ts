// `kubenode why`: what objects wait for and what to do first; without a name, everything that is wrong or waiting in the fleet.
import { shownJson, shownLine } from '#lib/printable.ts'
import { EXIT_DIFFERENT, Exit } from '#lib/terminal/exit.ts'
import type { Io } from '#lib/terminal/io.ts'
import type { Story } from '#explain/finding.ts'
import { hasColors, lineTone, paintOf, type Tone } from '#lib/terminal/paint.ts'
import { withPages } from '#lib/terminal/pages.ts'
import { windowLines } from '#lib/terminal/wrap.ts'
import { connect } from '../../fleet/connect.ts'
import type { AtOptions, HistoryOptions } from '../../fleet/history-options.ts'
import {
  type AllFound,
  type Found,
  type ShowOptions,
  findAll,
  reportMissed,
  storiesOfPrograms,
  storyOf,
} from './found.ts'

export interface WhyOptions extends ShowOptions, HistoryOptions {
  readonly at?: string
  readonly output?: 'text' | 'json'
}

export async function whyFleet({ kubeconfig, context, output }: WhyOptions, io: Io): Promise<void> {
  const { fleetWhy } = await import('./fleet-why.ts')
  const wanted = { file: kubeconfig, contexts: context === undefined ? [] : [context], env: io.env, cwd: io.cwd }
  const { lines, data, needsPerson, notes } = await fleetWhy(wanted)
  for (const note of notes) io.err(shownLine(note))
  if (output === 'json') io.out(`${JSON.stringify(data, undefined, 2)}\n`)
  else {
    const paint = paintOf(hasColors(io))
    const toneOf = (line: string): Tone | undefined => {
      if (line.startsWith('what to do first:')) return 'strong'
      return line === lines[0] ? (needsPerson > 0 ? 'bad' : 'strong') : lineTone(line.trimStart())
    }
    for (const line of lines.map((l) => withPages(l, io.cwd)))
      for (const part of windowLines(io, [line])) io.out(`${paint(toneOf(line), part)}\n`)
  }
  if (needsPerson > 0) throw new Exit(EXIT_DIFFERENT)
}

export async function why(words: readonly string[], options: WhyOptions, io: Io): Promise<void> {
  const { firstStep } = await import('#explain/first-step.ts')
  const { storyOfPlace, placeCalled } = await import('#explain/places.ts')
  const { storyLines } = await import('#explain/finding.ts')
  const { findingInContext } = await import('#explain/unblock.ts')
  const places = words.flatMap((word) => placeCalled(word) ?? [])
  const others = words.filter((word) => placeCalled(word) === undefined)
  const { found, missed } = others.length === 0 ? NOTHING : await findAll('why', others, options, io)
  const client = places.length === 0 ? undefined : await connect(options, io)
  const [ofPlaces, own, programs] = await Promise.all([
    client === undefined ? [] : Promise.all(places.map((place) => storyOfPlace(client, place, Date.now()))),
    Promise.all(found.map((one) => storyWithHub(one, options, io))),
    storiesOfPrograms(found),
  ])
  const all: readonly Story[] = [...ofPlaces, ...own, ...programs]
  const { context } = options
  const stories = context === undefined ? all : all.map((story) => findingInContext(story, context))
  if (options.output === 'json') {
    io.out(shownJson({ stories, firstStep: firstStep(stories) }))
    return reportMissed(missed, io)
  }
  const paint = paintOf(hasColors(io))
  const shown = (line: string, tone = lineTone(line)): string =>
    windowLines(io, [withPages(line, io.cwd)])
      .map((part) => `${paint(tone, part)}\n`)
      .join('')
  io.out(
    stories
      .map((story) =>
        storyLines(story)
          .map((line) => shown(line))
          .join(''),
      )
      .join('\n'),
  )
  io.out(`\n${shown(firstStep(stories), 'strong')}`)
  await reportMissed(missed, io)
}

/** What an object waited for at that time, explained by the same code as for the present. */
export async function whyAt(words: readonly string[], options: WhyOptions & AtOptions, io: Io): Promise<void> {
  const [{ answerAt, inThePast }, { readWhy }, { storyLines }] = await Promise.all([
    import('../../fleet/past.ts'),
    import('#explain/read-why.ts'),
    import('#explain/finding.ts'),
  ])
  await inThePast(words, options, io, async (found) => {
    const stories = await Promise.all(found.map(({ client, object, at }) => readWhy(client, object, at)))
    if (options.output === 'json') {
      io.out(shownJson(found.map((one, n) => answerAt(one, stories[n]))))
      return
    }
    const paint = paintOf(hasColors(io))
    const lines = stories.flatMap((story, n) => [
      ...(n === 0 ? [] : ['']),
      ...(found.length > 1 ? [`in cluster ${found[n]?.cluster ?? ''}:`] : []),
      ...storyLines(story),
    ])
    for (const line of lines) for (const part of windowLines(io, [line])) io.out(`${paint(lineTone(line), part)}\n`)
  })
}

const NOTHING: AllFound = { found: [], missed: [] }

async function storyWithHub(found: Found, options: ShowOptions, io: Io): Promise<Story> {
  const [{ contextsBeside }, { withHub }] = await Promise.all([
    import('../../fleet/contexts-beside.ts'),
    import('#explain/with-hub.ts'),
  ])
  return withHub(await storyOf(found), found.object, found.client, () => contextsBeside(options, io))
}
