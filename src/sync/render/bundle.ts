// The built files of a cage: its program, and what a fleet may import. If the set is damaged or incomplete it is ignored, and the sources are loaded instead.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '#lib/json.ts'
import { sha256OfFile } from '#lib/whole-file.ts'

/** Next to the program that renders. */
export const BUNDLE_FOLDER = 'caged'
/** The program inside the cage. */
export const BUNDLE_MAIN = 'main.mjs'
export const BUNDLE_INDEX = 'index.json'

export interface BundleIndex {
  /** The file for each name that may be imported. */
  readonly names: Readonly<Record<string, string>>
  /** SHA-256 of every file, in hexadecimal digits. */
  readonly digests: Readonly<Record<string, string>>
}

export interface Bundle {
  readonly folder: string
  readonly names: BundleIndex['names']
}

/** Undefined when there is no bundle, or a file is missing, extra, or modified. */
export function bundleIn(folder: string): Bundle | undefined {
  try {
    const index: unknown = JSON.parse(readFileSync(join(folder, BUNDLE_INDEX), 'utf8'))
    if (!isIndex(index)) return undefined
    const { names, digests } = index
    const files = readdirSync(folder).filter((file) => file !== BUNDLE_INDEX)
    const isWhole =
      files.length === Object.keys(digests).length &&
      [BUNDLE_MAIN, ...Object.values(names)].every((file) => Object.hasOwn(digests, file)) &&
      files.every((file) => digests[file] === sha256OfFile(join(folder, file)))
    return isWhole ? { folder, names } : undefined
  } catch {
    return undefined
  }
}

const isIndex = (value: unknown): value is BundleIndex =>
  isObject(value) && [value['names'], value['digests']].every(isTexts)

const isTexts = (value: unknown): boolean => isObject(value) && Object.values(value).every((v) => typeof v === 'string')
