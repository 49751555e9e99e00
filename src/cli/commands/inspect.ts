// `kubenode describe | why | trace`: shows KubeNode objects on a server, and never changes one.
import { type Command, Option } from 'commander'
import type { Release } from '#api/kinds/release.ts'
import type { KubeClient } from '#kube/client.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { printable, shownLine, shownLines } from '#lib/printable.ts'
import type { Connection } from '#programs/run/connect.ts'
import { EXIT_DIFFERENT, Exit } from '#lib/terminal/exit.ts'
import { type Io, showProblem } from '#lib/terminal/io.ts'
import type { Story } from '#explain/told.ts'
import { hasColors, lineTone, paintOf, type Tone } from '#lib/terminal/paint.ts'
import { shownInWindow, windowLines } from '#lib/terminal/wrap.ts'

export interface ServerOptions {
  readonly kubeconfig?: string
  readonly context?: string
}

export const withServer = (command: Command): Command =>
  command
    .option(
      '--kubeconfig <file>',
      'kubeconfig of the cluster; when left out KUBECONFIG, then ~/.kube/config or the local fleet around this folder, in a pod its own account',
    )
    .option('--context <name>', 'context of the kubeconfig')

export interface NamespaceOptions {
  readonly namespace?: string
}

/** For commands that name objects which may have a namespace. */
export const withNamespace = (command: Command): Command =>
  command.option(
    '-n, --namespace <name>',
    'namespace of the objects; that of the context, or kubenode-system when left out',
  )

export const connect = async (options: ServerOptions, io: Io): Promise<KubeClient> =>
  (await connectionTo(options, io)).client

export async function connectionTo(
  { kubeconfig, context }: ServerOptions,
  io: Io,
): Promise<{ readonly client: KubeClient; readonly server: string; readonly namespace: string | undefined }> {
  const { talkingClientOf, chosenConnection } = await import('#programs/run/connect.ts')
  const chosen = await chosenConnection({ file: kubeconfig, context, env: io.env, cwd: io.cwd })
  const { config, warnings } = chosen
  const say = (line: string): void => io.err(shownLine(line))
  for (const w of warnings) say(w)
  if (config.clientCertificate !== undefined || config.token !== undefined) {
    const { expiredCredential } = await import('#programs/run/expired-credential.ts')
    const expired = expiredCredential(config, Date.now())
    if (expired !== undefined) showProblem(io, shownLine(expired))
  }
  return {
    client: talkingClientOf(config, say, await announcement(chosen, say)),
    server: config.server,
    namespace: config.namespace,
  }
}

/** Who named no cluster is shown, before the first change, which one it goes to. */
async function announcement(
  { unnamed, context, config }: Connection,
  say: (line: string) => void,
): Promise<((method: string, path: string) => void) | undefined> {
  if (unnamed === undefined) return undefined
  const { isChange } = await import('#programs/run/unnamed-cluster.ts')
  let isSaid = false
  return (method, path) => {
    if (isSaid || !isChange(method, path)) return
    isSaid = true
    say(`changing context ${context} of ${unnamed} (${config.server})`)
  }
}

/** As `kubenode events` shows them. */
async function eventLines(client: KubeClient, object: KubeObject): Promise<readonly string[]> {
  const [{ eventRows, eventsOf }, { alignedRows }] = await Promise.all([
    import('../explore/events.ts'),
    import('../get/rows.ts'),
  ])
  const rows = eventRows(await eventsOf(client, [object]), Date.now())
  return rows.length === 0
    ? []
    : alignedRows(rows)
        .split('\n')
        .map((line) => `  ${line}`)
}

export function register(program: Command, io: Io): void {
  withNamespace(withServer(program.command('describe')))
    .description('show all about one object: spec, status, events')
    .argument('<what...>', 'kind/name, or the name alone; several')
    .action((words: string[], options: ShowOptions) => describe(words, options, io))

  withNamespace(withServer(program.command('why')))
    .description(
      'explain what objects wait for, since when, what unblocks them, and what to do first; without an object all that is wrong or waits in the fleet, worst first: exit 1 when something needs attention',
    )
    .argument('[what...]', 'kind/name, or the name alone; rack/NAME, zone/NAME; several; all contexts when left out')
    .addOption(new Option('-o, --output <form>', 'form of the output, without an object').choices(['text', 'json']))
    .action((words: string[], options: WhyOptions) =>
      words.length === 0 ? whyFleet(options, io) : why(words, options, io),
    )

  withNamespace(withServer(program.command('trace')))
    .description('show which commit an object comes from and who wrote its fields, or what became of a commit')
    .argument('<what...>', 'kind/name, the name alone, or a commit on the hub')
    .action((words: string[], options: ShowOptions) => trace(words, options, io))
}

interface WhyOptions extends ShowOptions {
  readonly output?: 'text' | 'json'
}

interface ShowOptions extends ServerOptions, NamespaceOptions {}

interface Found {
  readonly client: KubeClient
  readonly object: KubeObject
}

interface AllFound {
  readonly found: readonly Found[]
  /** Why others were not found: reported after what was found. */
  readonly missed: unknown[]
}

/** Words are read before any request. */
async function findAll(command: string, words: readonly string[], options: ShowOptions, io: Io): Promise<AllFound> {
  const [{ namedAll }, { findObject, shownNamespace }, { eachOf }] = await Promise.all([
    import('../inspect/target.ts'),
    import('../inspect/find-object.ts'),
    import('../inspect/missed.ts'),
  ])
  const all = namedAll(words)
  const { client, namespace: ofContext } = await connectionTo(options, io)
  const namespace = shownNamespace(options.namespace, ofContext)
  const search = { client, namespace, command }
  const { withKinds } = await import('../inspect/by-name.ts')
  const missed: unknown[] = []
  const each = all.map(async (one) =>
    Promise.all(
      (await withKinds([one], search)).map(async ({ type, name, noun }) => ({
        client,
        object: await findObject(client, type, { name, namespace }, noun),
      })),
    ),
  )
  const found = (await eachOf(each, missed)).flat()
  if (found.length === 0) await reportMissed(missed, io)
  return { found, missed }
}

const reportMissed = async (missed: readonly unknown[], io: Io): Promise<void> =>
  (await import('../inspect/missed.ts')).reportMissed(missed, io)

async function storyOf({ client, object }: Found): Promise<Story> {
  const { readWhy } = await import('#explain/read-why.ts')
  return readWhy(client, object, Date.now())
}

async function storyWithHub(found: Found, options: ShowOptions, io: Io): Promise<Story> {
  const { contextsBeside, withHub } = await import('../inspect/hub-refusal.ts')
  return withHub(await storyOf(found), found.object, found.client, () => contextsBeside(options, io))
}

/** What commits are called, for what is no Release. */
export async function releasesBeside(client: KubeClient, options: ServerOptions, io: Io): Promise<readonly Release[]> {
  const [{ contextsBeside }, { releasesKnown }] = await Promise.all([
    import('../inspect/hub-refusal.ts'),
    import('../inspect/releases-known.ts'),
  ])
  return releasesKnown(client, () => contextsBeside(options, io))
}

/** What these commits are called: as a Release says or, without a hub, the repository of the current folder. */
export async function calledBeside(
  client: KubeClient,
  commits: readonly string[],
  options: ServerOptions,
  io: Io,
): Promise<(commit: string) => string> {
  const [{ titledCommit }, { titlesHere }] = await Promise.all([
    import('#api/protocol/commit-title.ts'),
    import('../inspect/titles-here.ts'),
  ])
  const releases = await releasesBeside(client, options, io)
  const unknown = commits.filter((commit) => !releases.some(({ spec }) => spec.commit === commit))
  const here = await titlesHere(io.cwd, unknown)
  return (commit) => here.get(commit) ?? titledCommit(commit, releases)
}

/** Programs that would have to move these objects on, and do not run. */
async function storiesOfPrograms(found: readonly Found[]): Promise<readonly Story[]> {
  const [first] = found
  if (first === undefined) return []
  const { stoppedPrograms, stoppedStories } = await import('#explain/running-programs.ts')
  const kinds = found.map(({ object }) => object.kind ?? '')
  return stoppedStories(await stoppedPrograms(first.client, kinds), Date.now())
}

async function describe(words: readonly string[], options: ShowOptions, io: Io): Promise<void> {
  const { found, missed } = await findAll('describe', words, options, io)
  for (const [index, one] of found.entries()) {
    if (index > 0) io.out('\n')
    await describeOne(one, io)
  }
  await reportMissed(missed, io)
}

async function describeOne(found: Found, io: Io): Promise<void> {
  const { client, object } = found
  const { stringify } = await import('yaml')
  const { managedFields: _managed, ...metadata } = object.metadata
  const [[own, programs], { storyLines }] = await Promise.all([
    Promise.all([storyOf(found), storiesOfPrograms([found])]),
    import('#explain/told.ts'),
  ])
  const lines = [own, ...programs].flatMap(storyLines)
  io.out(printable(stringify({ ...object, metadata })))
  const events = await eventLines(client, object)
  io.out(
    `\nwhy:\n${shownInWindow(
      io,
      lines.map((l) => `  ${l}`),
    )}\nevents:\n${shownLines(events.length === 0 ? ['  none'] : events)}`,
  )
}

async function whyFleet({ kubeconfig, context, output }: WhyOptions, io: Io): Promise<void> {
  const { fleetWhy } = await import('../inspect/fleet.ts')
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
    for (const line of lines) for (const part of windowLines(io, [line])) io.out(`${paint(toneOf(line), part)}\n`)
  }
  if (needsPerson > 0) throw new Exit(EXIT_DIFFERENT)
}

async function why(words: readonly string[], options: ShowOptions, io: Io): Promise<void> {
  const { firstStep } = await import('../inspect/first-step.ts')
  const { storyOfPlace, placeCalled } = await import('../inspect/places.ts')
  const { storyLines } = await import('#explain/told.ts')
  const places = words.flatMap((word) => placeCalled(word) ?? [])
  const others = words.filter((word) => placeCalled(word) === undefined)
  const { found, missed } = others.length === 0 ? NOTHING : await findAll('why', others, options, io)
  const client = places.length === 0 ? undefined : await connect(options, io)
  const [ofPlaces, own, programs] = await Promise.all([
    client === undefined ? [] : Promise.all(places.map((place) => storyOfPlace(client, place, Date.now()))),
    Promise.all(found.map((one) => storyWithHub(one, options, io))),
    storiesOfPrograms(found),
  ])
  const stories = [...ofPlaces, ...own, ...programs]
  const paint = paintOf(hasColors(io))
  const shown = (line: string, tone = lineTone(line)): string =>
    windowLines(io, [line])
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

const NOTHING: AllFound = { found: [], missed: [] }

/** Words of git that no object has as its name: the commit is one of the repository around the current folder. */
const REVISION = /^(HEAD|@)$|[~^]/

async function commitHere(word: string, io: Io): Promise<string | undefined> {
  if (!REVISION.test(word)) return undefined
  const [{ openLocalRepository }, { commitCalled }] = await Promise.all([
    import('#sync/git/local-repository.ts'),
    import('#forecast/plan/range.ts'),
  ])
  return commitCalled(openLocalRepository(io.cwd, { above: true }), word)
}

async function trace(words: readonly string[], options: ShowOptions, io: Io): Promise<void> {
  const [{ traceLines }, { commitLines, isCommit }] = await Promise.all([
    import('../inspect/trace.ts'),
    import('../release/commit-trace.ts'),
  ])
  const [word = '', ...others] = words
  const commit = others.length > 0 ? undefined : isCommit(word) ? word : await commitHere(word, io)
  if (commit !== undefined) {
    const [{ approvalsOn, releasesOn }, { client }] = await Promise.all([
      import('../release/find-release.ts'),
      connectionTo(options, io),
    ])
    const [releases, approvals] = await Promise.all([releasesOn(client), approvalsOn(client)])
    if (releases.length === 0) {
      const { withHubHint } = await import('../inspect/hub-hint.ts')
      io.out(`${await withHubHint(client, `commit ${commit} has no release`)}\n`)
      return
    }
    io.out(shownInWindow(io, commitLines({ commit, releases, approvals })))
    return
  }
  const { found, missed } = await findAll('trace', words, options, io)
  const [first] = found
  const releases = first === undefined ? [] : await releasesBeside(first.client, options, io)
  io.out(found.map(({ object }) => shownInWindow(io, traceLines(object, releases))).join('\n'))
  await reportMissed(missed, io)
}
