// Which supervisor runs this node's components: systemd if it runs the host, otherwise the agent's own.
import { existsSync } from 'node:fs'
import type { Processes } from './port.ts'
import { Supervisor, type SupervisorOptions } from './supervisor.ts'
import { createSystemctl, type Systemctl } from './systemd/systemctl.ts'
import { Systemd } from './systemd/systemd.ts'

/** systemd creates this folder when it is the first process; this is the documented check. */
const SYSTEMD_RUNS = '/run/systemd/system'

export const systemctlOf = (): Systemctl | undefined => (existsSync(SYSTEMD_RUNS) ? createSystemctl() : undefined)

export function chooseProcesses(options: SupervisorOptions, systemctl: Systemctl | undefined): Processes {
  if (systemctl === undefined) return new Supervisor(options)
  const { binFolder, environment } = options
  const PATH = `${binFolder}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`
  return new Systemd({ ...options, systemctl, environment: { ...environment, PATH } })
}
