// The version of kubenode that a fleet repository depends on, by its package.json: its editors and checks use that one, sync always uses its own.
import { isObject } from '#lib/json.ts'
import type { GitRepository } from '../git/repository.ts'

const FILE = 'package.json'
/** Those of users are some kilobytes. */
const MAX_BYTES = 1024 * 1024
/** Digits, and what a release adds to them. */
const VERSION = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]{1,60})?$/

export async function dependencyAt(
  repository: GitRepository,
  commit: string,
  path: string,
): Promise<string | undefined> {
  const at = path === '.' ? FILE : `${path}/${FILE}`
  // A note is not worth a failure: a link in its place, or a damaged object, is no part of the fleet.
  const bytes = (await repository.readTree(commit, [at]).catch(() => undefined))?.get(at)
  return bytes === undefined || bytes.length > MAX_BYTES ? undefined : dependencyIn(Buffer.from(bytes).toString('utf8'))
}

/** Undefined where none can be told: no dependency, a range, a file of another name. */
export function dependencyIn(text: string): string | undefined {
  const manifest = parsed(text)
  if (!isObject(manifest)) return undefined
  const wanted = ['dependencies', 'devDependencies'].flatMap((field) => {
    const all = manifest[field]
    const one = isObject(all) && Object.hasOwn(all, 'kubenode') ? all['kubenode'] : undefined
    return typeof one === 'string' ? [one] : []
  })[0]
  const version = /(?:^|\/)kubenode-([^/]+)\.tgz$/.exec(wanted ?? '')?.[1] ?? wanted ?? ''
  return VERSION.test(version) ? version : undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Its programs say so.
    return undefined
  }
}

export const versionNote = (writtenFor: string, own: string): string =>
  `the repository depends on kubenode ${writtenFor}, and ${own} renders it`
