// A real node-problem-detector beside ours, where one is on this machine: as KUBENODE_NPD_PROGRAM names it, or as it lies in the PATH.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '#test/support/servers/free-port.ts'

export function npdProgram(env: NodeJS.ProcessEnv): string | undefined {
  const program = env['KUBENODE_NPD_PROGRAM'] ?? 'node-problem-detector'
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0 ? program : undefined
}

export interface Detector {
  readonly child: ChildProcess
  /** The file that it follows. */
  readonly log: string
  /** Where /metrics is. */
  readonly metrics: string
}

/** Follows `kern.log` of the folder by the rules of the monitor. */
export async function startNpd(program: string, folder: string, monitor: object): Promise<Detector> {
  const [log, config, port] = [join(folder, 'kern.log'), join(folder, 'monitor.json'), await freePort()]
  writeFileSync(log, '')
  writeFileSync(config, JSON.stringify({ ...monitor, logPath: log }))
  const args = ['--enable-k8s-exporter=false', '--port=0', `--prometheus-port=${port}`]
  const child = spawn(program, [...args, `--config.system-log-monitor=${config}`], {
    stdio: 'ignore',
    env: { ...process.env, NODE_NAME: 'node1' },
  })
  return { child, log, metrics: `http://127.0.0.1:${port}/metrics` }
}

/** What it counted and shows, without what is nothing; the names are the same for both. */
export async function problemMetrics(url: string): Promise<readonly string[]> {
  const text = await (await fetch(url)).text()
  return text
    .split('\n')
    .filter((line) => /^problem_(counter|gauge)\{/.test(line) && !line.endsWith(' 0'))
    .sort()
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** A line of the kernel of now, as rsyslog writes it. */
export function syslogLine(message: string, n: number): string {
  const now = new Date()
  const time = [now.getHours(), now.getMinutes(), now.getSeconds()].map((t) => String(t).padStart(2, '0')).join(':')
  return `${MONTHS[now.getMonth()]} ${String(now.getDate()).padStart(2, ' ')} ${time} node1 kernel: [${n}.000000] ${message}\n`
}
