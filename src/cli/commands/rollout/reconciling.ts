// Asks sync to read sources now, waits for it, and reports the result. Sync answers by writing the request's time into the status.
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { ANNOTATIONS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { objectKey } from '#api/schema/object-meta.ts'
import { systemClock } from '#lib/system-clock.ts'
import { formatDuration, parseDuration } from '#lib/duration.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { shownLine } from '#lib/printable.ts'
import type { KubeClient } from '#kube/client.ts'
import { listAll } from '#kube/list-all.ts'
import { type ServerOptions, connect } from '../../fleet/connect.ts'
import { EXIT_DIFFERENT, EXIT_ERROR, Exit } from '#lib/terminal/exit.ts'
import { findObject } from '#explain/objects/find-object.ts'
import { stoppedText } from '#explain/programs.ts'
import { type SourceAnswer, sourceAnswer } from '#explain/source-answer.ts'
import { stoppedPrograms } from '#explain/running-programs.ts'
import { type Io, showProblem } from '#lib/terminal/io.ts'
import { withProgress } from '#lib/terminal/progress.ts'
import { withHubHint } from '#explain/objects/hub-hint.ts'
import { kindOf } from '../../fleet/name-word.ts'
import { isKindWord } from '../../fleet/target.ts'
import { exploreErrors } from '../../fleet/explore-errors.ts'
import { shownInWindow } from '#lib/terminal/wrap.ts'

export interface ReconcileOptions extends ServerOptions {
  readonly wait: boolean
  readonly timeout: string
}

const POLL_MS = 300
/** People type `kubenode reconcile now`: it means the only source. */
const NOW = 'now'

export async function reconcile(what: string | undefined, options: ReconcileOptions, io: Io): Promise<void> {
  const timeoutMs = parseDuration(options.timeout)
  const name = what === NOW ? undefined : sourceNameIn(what)
  const client = await connect(options, io)
  const sources =
    name === undefined
      ? await listAll(client, fleetSource, { namespace: SYSTEM_NAMESPACE })
      : [await findObject(client, fleetSource, name, 'source')]
  if (what === NOW && sources.length > 1) {
    const names = sources.map(({ metadata }) => `source/${metadata.name ?? ''}`)
    throw new KubeNodeError(exploreErrors.KN1325_sources({ names: names.join(', ') }))
  }
  if (sources.length === 0) {
    showProblem(io, shownLine(await withHubHint(client, 'no sources to reconcile')))
    throw new Exit(EXIT_ERROR)
  }
  // With milliseconds, so that two requests in one second differ.
  const at = new Date(systemClock.now()).toISOString()
  for (const { metadata } of sources) {
    const value = { metadata: { annotations: { [ANNOTATIONS.reconcile]: at } } }
    await client.patch(fleetSource, objectKey({ metadata }), { type: 'merge', value })
    io.out(shownInWindow(io, [`source/${metadata.name ?? ''}: sync was asked to read it now`]))
  }
  if (!options.wait) return
  const until = systemClock.monotonic() + timeoutMs
  const found = await withProgress(
    io,
    'waiting for sync',
    Promise.all(sources.map(({ metadata }) => answerOf(client, objectKey({ metadata }), { at, until, timeoutMs }))),
  )
  for (const { line, isGood } of found) if (isGood) io.out(shownInWindow(io, [line]))
  for (const { line, isGood } of found) if (!isGood) showProblem(io, shownLine(line))
  if (found.some((f) => !f.isGood)) throw new Exit(EXIT_DIFFERENT)
}

/** Sync reads nothing but sources, so a bare name is a source. */
function sourceNameIn(what: string | undefined): string | undefined {
  if (what !== undefined && !what.includes('/') && !isKindWord(what)) return what
  const [noun, name, ...rest] = (what ?? 'source').split('/')
  if (kindOf(noun ?? '') !== fleetSource.kind || rest.length > 0 || (what !== undefined && (name ?? '') === ''))
    throw new KubeNodeError(exploreErrors.KN1325_reconcile({ what: JSON.stringify(what) }))
  return name
}

interface Request {
  readonly at: string
  readonly until: number
  readonly timeoutMs: number
}

async function answerOf(
  client: KubeClient,
  key: { readonly name: string; readonly namespace?: string | undefined },
  { at, until, timeoutMs }: Request,
): Promise<SourceAnswer> {
  const what = `source/${key.name}`
  let stopped: string | undefined
  void stoppedPrograms(client, [fleetSource.kind]).then(
    ([first]) => (stopped = first && stoppedText(first, systemClock.now())),
  )
  for (;;) {
    const source = await client.get(fleetSource, key)
    if (source === undefined) return { line: `${what}: it was deleted`, isGood: false }
    const answer = sourceAnswer(source, at)
    if (answer !== undefined) return answer
    if (stopped !== undefined) return { line: `${what}: not read. ${stopped}; run kubenode check`, isGood: false }
    if (systemClock.monotonic() >= until) {
      const late = `${what}: sync did not read it within ${formatDuration(timeoutMs)}; run kubenode why ${what}`
      return { line: late, isGood: false }
    }
    await systemClock.sleep(POLL_MS)
  }
}
