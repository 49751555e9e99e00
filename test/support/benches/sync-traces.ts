// What sync leaves behind where others may look: objects on servers, the words of the command line, files below its folder.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { KINDS } from '#api/kinds.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { run } from '#cli/program.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { listAll } from '#kube/list-all.ts'
import { CONFIG_MAP, SECRET, type SyncBench } from './sync-bench.ts'
import type { SyncProgram } from './sync-program.ts'

export const readable = (path: string): string => {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    // It ended, was deleted, or belongs to another user.
    return ''
  }
}

export const filesBelow = (dir: string): readonly string[] =>
  readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .map((name) => join(dir, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true)

const NO_SECRETS: readonly ResourceType[] = [CONFIG_MAP, coreKind('Event'), coreKind('Namespace'), ...KINDS]

/** Everything that is stored on a server. Of the Secrets all but their content, which is where it belongs. */
export async function stored(client: KubeClient): Promise<string> {
  const objects = await Promise.all(NO_SECRETS.map((kind) => listAll(client, kind).catch(() => [])))
  const secrets = (await listAll(client, SECRET)).map((secret) => ({
    ...secret,
    data: Object.keys(secret['data'] ?? {}),
  }))
  return JSON.stringify([objects, secrets])
}

/** What the command line shows of everything, and of a plan from this commit to the newest. */
export async function shown(bench: SyncBench, sync: SyncProgram, base: string): Promise<string> {
  const kubeconfig = join(sync.folder, 'hub.kubeconfig')
  let text = ''
  const io = {
    out: (t: string) => (text += t),
    err: (t: string) => (text += t),
    cwd: bench.repository.dir,
    env: { KUBECONFIG: kubeconfig },
    isTerminal: false,
  }
  for (const argv of [
    ['plan', '--weak-cage', 'allow', '--base', base],
    ['diff', '--weak-cage', 'allow', `${base}..HEAD`],
    ['get', 'sources', '-A', '-o', 'yaml'],
    ['get', 'releases', '-A', '-o', 'yaml'],
    ['describe', 'source/fleet', '-n', SYSTEM_NAMESPACE],
    ['why', 'source/fleet', '-n', SYSTEM_NAMESPACE],
    ['events', '-A'],
  ]) {
    text += `\n$ ${argv.join(' ')}\n`
    await run(argv, io)
  }
  // A command that refuses its arguments shows nothing.
  if (/KN1002|Usage:/.test(text)) throw new Error(text)
  return text
}
