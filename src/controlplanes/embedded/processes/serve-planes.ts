// Runs control planes' API servers in this process, by requests from its host over the channel. Exits with the host.
import type { Clock } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { EngineServer, PlaneEngine } from '../engine.ts'
import { HEARTBEAT_MS, type FromProcess, type ToProcess } from './messages.ts'

/** The part of the process that the host's channel needs. */
export interface Channel {
  send(message: FromProcess): void
  /** Called with each message of the host. */
  listen(onMessage: (message: ToProcess) => void): void
  /** Resolves when the host has exited or closed the channel. */
  readonly closed: Promise<void>
}

interface Running {
  readonly ending: AbortController
  readonly server: Promise<EngineServer>
}

export async function servePlanes(channel: Channel, start: PlaneEngine['start'], clock: Clock): Promise<void> {
  const running = new Map<number, Running>()

  const open = (message: ToProcess & { readonly kind: 'Start' }): void => {
    const { id, wanted } = message
    const ending = new AbortController()
    const server = start({ ...wanted, signal: ending.signal })
    running.set(id, { ending, server })
    const end = (last: FromProcess): void => {
      running.delete(id)
      channel.send(last)
    }
    server.then(
      ({ url, credentials, ended }) => {
        channel.send({ kind: 'Started', id, url, credentials: credentials() })
        ended.then(
          () => end({ kind: 'Ended', id }),
          (e: unknown) => end({ kind: 'Ended', id, why: messageOf(e) }),
        )
      },
      (e: unknown) => end({ kind: 'Failed', id, why: messageOf(e) }),
    )
  }

  const replace = async ({ id, credentials }: ToProcess & { readonly kind: 'Replace' }): Promise<void> => {
    try {
      await (await running.get(id)?.server)?.replaceCredentials(credentials)
      channel.send({ kind: 'Replaced', id })
    } catch (e) {
      channel.send({ kind: 'Replaced', id, why: messageOf(e) })
    }
  }

  channel.listen((message) => {
    if (message.kind === 'Start') open(message)
    else if (message.kind === 'Replace') void replace(message)
    else running.get(message.id)?.ending.abort()
  })
  const heartbeat = (): void => {
    channel.send({ kind: 'Beat' })
    clock.after(HEARTBEAT_MS, heartbeat)
  }
  heartbeat()
  await channel.closed
  for (const { ending } of running.values()) ending.abort()
  await Promise.allSettled([...running.values()].map(async ({ server }) => (await server).ended))
}
