// `kubenode approve operationpermit/NAME | release/NAME | source/NAME | sha256:DIGEST`: approves exactly what the object requests now.
import type { Command } from 'commander'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { Release } from '#api/kinds/release.ts'
import { systemClock } from '#lib/clock.ts'
import { KubeNodeError, assertNever } from '#lib/errors.ts'
import { shownLine } from '#lib/printable.ts'
import type { KubeClient } from '#kube/client.ts'
import type { ApprovalRequest } from '#explain/approval-requests.ts'
import type { Asker } from '../approve/counts.ts'
import { EXIT_DIFFERENT, Exit } from '../exit.ts'
import type { Io } from '../io.ts'
import { type ServerOptions, connect, withServer } from './inspect.ts'
import { approveErrors } from '../approve/approve-errors.ts'
import { shownInWindow } from '../wrap.ts'

interface Options extends ServerOptions {
  readonly reason?: string
  readonly for: string
}

export function register(program: Command, io: Io): void {
  const command = program
    .command('approve')
    .description(
      'approve the current request of operationpermit/NAME, release/NAME or source/NAME, or only sha256:DIGEST',
    )
    .argument(
      '<what>',
      'operationpermit/NAME, or release/NAME and source/NAME on the hub; or the digest that a plan names, if anything asks for it',
    )
    .option('--reason <why>', 'why, for the audit trail')
    .option('--for <duration>', 'how long the approval is valid', '1h')
  withServer(command).action(async (what: string, options: Options) => {
    const [{ approvalOf, approvedFor }, { countsOf, groupsAsked }, { whoAmI }] = await Promise.all([
      import('../approve/approval.ts'),
      import('../approve/counts.ts'),
      import('#kube/who-am-i.ts'),
    ])
    approvedFor(options.for)
    const { client, object, requests } = await requested(what, options, io)
    const who = await whoAmI(client)
    if (who === undefined) throw new KubeNodeError(approveErrors.KN1335({ what }))
    if (requests.length === 0) io.err(shownLine(`${what} needs no approval now`))
    const { approval } = await import('#api/kinds/approval.ts')
    let isCounted = true
    for (const { digest, text } of requests) {
      const wish = { reason: options.reason, for: options.for }
      const askers = await askersOf(client, object, digest)
      const request = { object, digest, asked: groupsAsked(askers ?? []) }
      const made = await client.create(approval, approvalOf(request, who, wish, systemClock.now()))
      const { name = '' } = object.metadata
      const of = what.includes('/') ? what : `${object.kind.toLowerCase()}/${name}`
      const subject = text === undefined ? of : `${of}, ${text}, digest ${digest}`
      const counts = countsOf(
        askers ?? [],
        { name: who.name, groups: made.spec.groups ?? [] },
        `kubenode approve ${of}`,
      )
      const act = counts.isCounted ? 'approved' : 'recorded, but nothing counts it: approval of'
      io.out(
        shownInWindow(io, [
          `${act} ${subject} as ${who.name} until ${made.spec.until} (approval/${made.metadata.name})`,
        ]),
      )
      for (const line of counts.lines) io.err(shownLine(`warning: ${line}`))
      if (askers?.length === 0 && object.kind === 'Release')
        io.err(shownLine(`note: nothing asks for an approval of ${of} now`))
      isCounted &&= counts.isCounted
    }
    if (!isCounted) throw new Exit(EXIT_DIFFERENT)
  })
}

/** Undefined where an approval of any user counts, and without the right to read whose do. */
async function askersOf(
  client: KubeClient,
  object: Requested['object'],
  digest: string,
): Promise<readonly Asker[] | undefined> {
  const [{ askersOfCommit, askersOfPermit, askersOfRelease }, { isApiError }] = await Promise.all([
    import('../approve/counts.ts'),
    import('#kube/errors.ts'),
  ])
  try {
    switch (object.kind) {
      case 'Release': {
        const [{ releasePipeline }, { targetsDigest }] = await Promise.all([
          import('#api/kinds/release-pipeline.ts'),
          import('#sync/release/tracks.ts'),
        ])
        if (digest !== targetsDigest(object)) return undefined
        const { namespace = '' } = object.metadata
        return askersOfRelease(object, await client.get(releasePipeline, { namespace, name: object.spec.pipeline }))
      }
      case 'OperationPermit': {
        const [{ defenderPolicy }, { listAll }] = await Promise.all([
          import('#api/kinds/defender-policy.ts'),
          import('#kube/list-all.ts'),
        ])
        return askersOfPermit(object, await listAll(client, defenderPolicy))
      }
      case 'FleetSource':
        return digest === object.status?.refused?.digest ? askersOfCommit(object) : undefined
      default:
        return assertNever(object)
    }
  } catch (error) {
    if (!isApiError(error) || error.status !== 403) throw error
    return undefined
  }
}

interface Requested {
  readonly client: KubeClient
  readonly object: OperationPermit | Release | FleetSource
  readonly requests: readonly ApprovalRequest[]
}

async function requested(what: string, options: Options, io: Io): Promise<Requested> {
  const [{ digestIn, findRequest }, { requestsOf }, { isKindWord, kindCalled }, { findObject }] = await Promise.all([
    import('../approve/by-digest.ts'),
    import('#explain/approval-requests.ts'),
    import('../inspect/target.ts'),
    import('../inspect/find-object.ts'),
  ])
  const wanted = digestIn(what)
  if (wanted !== undefined) {
    const client = await connect(options, io)
    const { object, request } = await findRequest(client, wanted)
    return { client, object, requests: [request] }
  }
  const wrong = () => new KubeNodeError(approveErrors.KN1334({ what: JSON.stringify(what) }))
  if (what.startsWith('sha256:')) throw wrong()
  const [{ operationPermit }, { release }, { fleetSource }] = await Promise.all([
    import('#api/kinds/operation-permit.ts'),
    import('#api/kinds/release.ts'),
    import('#api/kinds/fleet-source.ts'),
  ])
  const [word = '', name = '', ...rest] = what.split('/')
  const kind = isKindWord(word) ? kindCalled(word).kind : undefined
  const type = [operationPermit, release, fleetSource].find((t) => t.kind === kind)
  if (type === undefined || name === '' || rest.length > 0) throw wrong()
  const client = await connect(options, io)
  const object = await findObject<OperationPermit | Release | FleetSource>(client, type, name, word)
  return { client, object, requests: requestsOf(object) }
}
