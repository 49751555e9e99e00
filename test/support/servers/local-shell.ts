// A dialog with a shell of this machine, without ssh: what a host does with snippets, as fast as it can.
import { spawn } from 'node:child_process'
import { type Channel, ChannelLost, openChannel } from '#ssh/channel.ts'

export async function localShell(): Promise<Channel> {
  const child = spawn('sh', ['-s'], { stdio: ['pipe', 'pipe', 'pipe'], detached: true })
  const channel = await openChannel(child, { prelude: '', signal: new AbortController().signal })
  if (channel.kind === 'Failed') throw new Error(channel.stderr)
  return channel
}

/** Before: the snippet never reaches the host. After: it ran, and its answer is lost. */
export type Cut = 'before' | 'after'

export interface CutChannel extends Pick<Channel, 'ask'> {
  readonly asked: number
  readonly isCut: boolean
}

/** The session is lost at this snippet, counted from 0. */
export function cutAt(channel: Channel, at: number, cut: Cut): CutChannel {
  let asked = 0
  let isCut = false
  return {
    get asked() {
      return asked
    },
    get isCut() {
      return isCut
    },
    async ask(ask) {
      const n = asked++
      if (n < at) return channel.ask(ask)
      isCut = true
      if (n === at && cut === 'after') await channel.ask(ask)
      channel.close()
      throw new ChannelLost('cut')
    },
  }
}
