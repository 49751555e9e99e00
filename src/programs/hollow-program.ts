// The hollow fleet: runs the agents of all hosts in a folder in one process, under one kubeconfig identity or one identity each.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { hollowCertificate } from '#agent/hollow/agent-certificate.ts'
import { HollowFleet } from '#agent/hollow/fleet.ts'
import { HostFollower } from '#agent/hollow/follow-hosts.ts'
import { defined } from '#lib/defined.ts'
import { systemClock } from '#lib/system-clock.ts'
import { durationMs } from '#lib/duration.ts'
import { messageOf } from '#lib/errors.ts'
import { lineLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import type { ConnectionConfig } from '#kube/http/connection.ts'
import { clientOf, connectionOf } from './run/connect.ts'
import { standardError } from '#lib/terminal/standard-error.ts'
import { untilEnded } from '#runtime/until-ended.ts'
import { VERSION } from '#lib/program-version.ts'

const EXIT_ERROR = 1
const DEFAULT_LEASE = '10s'
const USAGE = 'usage: hollow-main.ts --hosts FOLDER --kubeconfig FILE [--lease 10s] [--authority FOLDER]\n'

interface Arguments {
  readonly hosts: string
  readonly kubeconfig: string
  readonly leaseMs: number
  /** With ca.crt and ca.key: each agent gets a certificate of its own. */
  readonly authority?: string
}

function parseArguments(argv: readonly string[]): Arguments | undefined {
  try {
    const text = { type: 'string' } as const
    const { values } = parseArgs({
      args: [...argv],
      options: { hosts: text, kubeconfig: text, lease: text, authority: text },
    })
    const { hosts, kubeconfig, lease = DEFAULT_LEASE, authority } = values
    const leaseMs = durationMs(lease)
    return hosts === undefined || kubeconfig === undefined || leaseMs === undefined || leaseMs <= 0
      ? undefined
      : { hosts, kubeconfig, leaseMs, ...defined({ authority }) }
  } catch {
    return undefined
  }
}

/** Ten thousand agents would fill the disk with logs sized for one agent. */
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
    const { authority } = given
    const each = authority === undefined ? {} : { clientOf: ownClients(config, authority) }
    const fleet = new HollowFleet({
      ...own,
      ...each,
      faults: follower.faults,
      reboot: (machine) => follower.reboot(machine),
    })
    await Promise.all([fleet.run(stop.signal), follower.run(fleet, systemClock, log, stop.signal)])
    return 0
  } catch (e) {
    standardError.write(`${messageOf(e)}\n`)
    return EXIT_ERROR
  } finally {
    clearInterval(awake)
  }
}

/** Each agent has its own connections, as a real agent does. */
function ownClients(config: ConnectionConfig, folder: string) {
  const read = (file: string): string => readFileSync(join(folder, file), 'utf8')
  const authority = { certificate: read('ca.crt'), key: read('ca.key') }
  return (machine: string, uid: string) => {
    const { certificate, key } = hollowCertificate(authority, machine, uid, systemClock.now())
    const clientCertificate = { cert: { data: certificate }, key: { data: key } }
    const { server, ca } = config
    return clientOf({ server, ...defined({ ca }), clientCertificate }, `kubenode-agent/${VERSION}`)
  }
}
