// Which supervisor runs the components of this node: systemd if it runs the host, our own elsewhere.
import { existsSync } from 'node:fs'
import type { Processes } from './port.ts'
import { Supervisor, type SupervisorOptions } from './supervisor.ts'
import { createSystemctl, type Systemctl } from './systemd/systemctl.ts'
import { Systemd } from './systemd/systemd.ts'

/** Made by systemd at its start, when it is the first process; the documented way to see it. */
const SYSTEMD_RUNS = '/run/systemd/system'

export const systemctlOf = (): Systemctl | undefined => (existsSync(SYSTEMD_RUNS) ? createSystemctl() : undefined)

export function chooseProcesses(options: SupervisorOptions, systemctl: Systemctl | undefined): Processes {
  if (systemctl === undefined) return new Supervisor(options)
  const { binFolder, environment } = options
  const PATH = `${binFolder}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`
  return new Systemd({ ...options, systemctl, environment: { ...environment, PATH } })
}
