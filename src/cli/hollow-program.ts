// The program of a hollow fleet: the agents of every host in a folder, in one process, under the one identity of a kubeconfig.
import { parseArgs } from 'node:util'
import { HollowFleet } from '#agent/hollow/fleet.ts'
import { HostFollower } from '#agent/hollow/follow-hosts.ts'
import { systemClock } from '#lib/clock.ts'
import { durationMs } from '#lib/duration.ts'
import { messageOf } from '#lib/errors.ts'
import { lineLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import { clientOf, connectionOf } from './run/connect.ts'
import { standardError } from './standard-error.ts'
import { untilEnded } from './until-ended.ts'
import { VERSION } from './version.ts'

const EXIT_ERROR = 1
const DEFAULT_LEASE = '10s'
const USAGE = 'usage: hollow-main.ts --hosts FOLDER --kubeconfig FILE [--lease 10s]\n'

interface Arguments {
  readonly hosts: string
  readonly kubeconfig: string
  readonly leaseMs: number
}

export function parseArguments(argv: readonly string[]): Arguments | undefined {
  try {
    const text = { type: 'string' } as const
    const { values } = parseArgs({ args: [...argv], options: { hosts: text, kubeconfig: text, lease: text } })
    const { hosts, kubeconfig, lease = DEFAULT_LEASE } = values
    const leaseMs = durationMs(lease)
    return hosts === undefined || kubeconfig === undefined || leaseMs === undefined || leaseMs <= 0
      ? undefined
      : { hosts, kubeconfig, leaseMs }
  } catch {
    return undefined
  }
}

/** Ten thousand agents would fill a disk with the logs that a single one may write. */
const log = lineLogger(standardError, 'warn')

export async function main(argv: readonly string[]): Promise<number> {
  const given = parseArguments(argv)
  if (given === undefined) {
    standardError.write(USAGE)
    return EXIT_ERROR
  }
  const stop = untilEnded()
  const awake = setInterval(() => undefined, 2 ** 30)
  try {
    const { config } = await connectionOf(given.kubeconfig)
    const client = clientOf(config, `kubenode-hollow/${VERSION}`)
    const follower = new HostFollower(given.hosts)
    const own = { client, clock: systemClock, random: systemRandom, log, version: VERSION, leaseMs: given.leaseMs }
    const fleet = new HollowFleet({ ...own, faults: follower.faults })
    await Promise.all([fleet.run(stop.signal), follower.run(fleet, systemClock, log, stop.signal)])
    return 0
  } catch (e) {
    standardError.write(`${messageOf(e)}\n`)
    return EXIT_ERROR
  } finally {
    clearInterval(awake)
  }
}
