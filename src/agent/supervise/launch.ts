// Starts a component's process on a node without systemd: in its own session that outlives the agent, marked, with output to its log.
import { spawn } from 'node:child_process'
import { closeSync, existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { openLog } from '#lib/whole-file.ts'
import { onNode, type NodeDir } from '../node-dir.ts'
import { componentVariables } from '../node-variables.ts'
import { logFile } from './log-file.ts'
import { MARK, markText } from './mark.ts'
import type { StartRequest } from './port.ts'
import { readStat, type ProcessId } from './proc.ts'
import { userIds } from './user.ts'
import { agentErrors } from '../agent-errors.ts'

export interface LaunchPlace {
  readonly dir: NodeDir
  /** First in the components' PATH, so that scripts find the Node.js that the agent runs on. */
  readonly binFolder: string
  /** Environment that describes the node to its components. */
  readonly environment: Readonly<Record<string, string>>
}

export type OnExit = (pid: number, code: number | null, signal: string | null) => void

/** `start` is the id of this start. */
export async function launch(
  { component, slot, service }: StartRequest,
  start: string,
  { dir, binFolder, environment }: LaunchPlace,
  onExit: OnExit,
): Promise<ProcessId> {
  if (service.exec === undefined) throw new KubeNodeError(agentErrors.KN8032({ component }))
  const user = userIds(component, service.user, dir.root)
  const logPath = logFile(dir, component)
  mkdirSync(dirname(logPath), { recursive: true })
  const output = openLog(logPath, 0o640)
  try {
    const program = onNode(dir, service.exec)
    const child = spawn(existsSync(program) ? program : service.exec, [...(service.args ?? [])], {
      cwd: dir.root,
      detached: true,
      stdio: ['ignore', output, output],
      ...user,
      env: {
        ...componentVariables(
          { PATH: `${binFolder}:/usr/local/bin:/usr/bin:/bin`, ...environment, KUBENODE_ROOT: dir.root },
          component,
          service.env,
        ),
        [MARK]: markText(dir.path, { component, slot, killMode: service.killMode, start }),
      },
    })
    const pid = await new Promise<number>((resolve, reject) => {
      child.once('error', reject)
      child.once('spawn', () => resolve(child.pid ?? 0))
    })
    child.unref()
    child.on('exit', (code, signal) => onExit(pid, code, signal))
    return { pid, startTime: readStat(pid)?.startTime ?? '' }
  } catch (e) {
    throw new KubeNodeError(agentErrors.KN8030({ component, why: messageOf(e), logPath }), {
      retry: 'later',
      cause: e,
    })
  } finally {
    closeSync(output)
  }
}
