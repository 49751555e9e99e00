// `kubenode approve operationpermit/NAME | release/NAME | source/NAME | sha256:DIGEST`: approves exactly what the object requests now.
import type { Command } from 'commander'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { Release } from '#api/kinds/release.ts'
import { systemClock } from '#lib/system-clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { shownLine } from '#lib/printable.ts'
import type { KubeClient } from '#kube/client.ts'
import type { ApprovalRequest } from '#explain/approval-requests.ts'
import { EXIT_DIFFERENT, Exit } from '#lib/terminal/exit.ts'
import type { Io } from '#lib/terminal/io.ts'
import { type ServerOptions, connect, withServer } from '../../fleet/connect.ts'
import { approveErrors } from './approve-errors.ts'
import { shownInWindow } from '#lib/terminal/wrap.ts'

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
    const [{ approvalOf, approvedFor }, { countsOf, groupsAsked }, { approversAsked }, { currentPerson: whoAmI }] =
      await Promise.all([
        import('./approval.ts'),
        import('#explain/approvers.ts'),
        import('#explain/approvers-asked.ts'),
        import('#kube/current-person.ts'),
      ])
    approvedFor(options.for)
    const { client, object, requests } = await requested(what, options, io)
    const who = await whoAmI(client)
    if (who === undefined) throw new KubeNodeError(approveErrors.KN1335({ what }))
    if (requests.length === 0) io.err(shownLine(`${what} needs no approval now`))
    const { approval } = await import('#api/kinds/approval.ts')
    const { notAwaited } = await import('#explain/approval-requests.ts')
    let isCounted = true
    for (const { digest, text } of requests) {
      const given = { reason: options.reason, for: options.for }
      const askers = await approversAsked(client, object, digest)
      const request = { object, digest, asked: groupsAsked(askers ?? []) }
      const made = await client.create(approval, approvalOf(request, who, given, systemClock.now()))
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
      const note = notAwaited(object, askers, of)
      if (note !== undefined) io.err(shownLine(`note: ${note}`))
      isCounted &&= counts.isCounted
    }
    if (!isCounted) throw new Exit(EXIT_DIFFERENT)
  })
}

interface Requested {
  readonly client: KubeClient
  readonly object: OperationPermit | Release | FleetSource
  readonly requests: readonly ApprovalRequest[]
}

async function requested(what: string, options: Options, io: Io): Promise<Requested> {
  const [{ digestIn, findRequest }, { requestsOf }, { isKindWord, kindCalled }, { findObject }] = await Promise.all([
    import('./by-digest.ts'),
    import('#explain/approval-requests.ts'),
    import('../../fleet/target.ts'),
    import('#explain/objects/find-object.ts'),
  ])
  const wanted = digestIn(what)
  if (wanted !== undefined) {
    const client = await connect(options, io)
    const { object, request } = await findRequest(client, wanted)
    return { client, object, requests: [request] }
  }
  const wrong = () => new KubeNodeError(approveErrors.KN1325_approve({ what: JSON.stringify(what) }))
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
