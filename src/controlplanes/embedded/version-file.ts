// A hub's version file, reread on each change: a mounted ConfigMap is replaced in place.
import { statSync } from 'node:fs'
import { parseVersionFile, type VersionFile } from '../kubernetes/version-file.ts'
import { readBoundedText } from '#lib/bounded-file.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { versionErrors } from './version-errors.ts'
import { someOf } from '#lib/some-of.ts'
import { systemTrouble } from '#lib/system-trouble.ts'

const MOST_SHOWN = 5

type Read = Extract<VersionFile, { readonly rows: unknown }>

export type Versions = (onMistake: (problem: string) => void) => Read

/** Throws if it is invalid at the start. After a later mistake the last valid content stays. */
export function versionFile(file: string): Versions {
  let stamp = stampOf(file)
  let read = readVersionFile(file)
  return (onMistake) => {
    try {
      const now = stampOf(file)
      if (now === stamp) return read
      stamp = now
      read = readVersionFile(file)
    } catch (error) {
      onMistake(messageOf(error))
    }
    return read
  }
}

const stampOf = (file: string): string => {
  try {
    const { mtimeMs, size, ino } = statSync(file)
    return `${ino}/${mtimeMs}/${size}`
  } catch (error) {
    throw new KubeNodeError(versionErrors.KN1462({ file, problems: systemTrouble(error) }))
  }
}

function versionsText(file: string): string {
  try {
    return readBoundedText(file)
  } catch (error) {
    throw new KubeNodeError(versionErrors.KN1462({ file, problems: systemTrouble(error) }), { cause: error })
  }
}

/** Throws if the file is missing or invalid. */
function readVersionFile(file: string): Read {
  const read = parseVersionFile(versionsText(file))
  if ('rows' in read) return read
  const problems = someOf(read.problems, MOST_SHOWN, '; ')
  throw new KubeNodeError(versionErrors.KN1462({ file, problems }))
}
