// Imports lines into a history in a folder of its own, for replays and for questions about a remote fleet.
import { existsSync } from 'node:fs'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { fieldsOf } from '#lib/fields.ts'
import { NOT_REPORTED } from '../facts/transition.ts'
import { historyErrors } from '../history-errors.ts'
import { historyFile, openForRecording } from '../store/file.ts'
import { type Gap, HistoryWriter, type PendingRow } from '../store/writer.ts'
import type { DeedLine } from '../deeds/chain.ts'
import { EXPORT_FORMAT, type HistoryLine, hasTexts, parsedLine, unknownFormat } from './line.ts'

const MAX_BATCH = 4_000

export interface Imported {
  readonly cluster: string
  readonly rows: number
}

export interface ImportOptions {
  readonly folder: string
  /** For messages. */
  readonly file: string
  readonly now: number
}

export async function imported(texts: AsyncIterable<string>, options: ImportOptions): Promise<readonly Imported[]> {
  const done: Imported[] = []
  let at: ClusterImport | undefined
  let n = 0
  let isOld = false
  try {
    for await (const text of texts) {
      n++
      if (text === '') continue
      const line = parsedLine(text, isOld)
      if (line === undefined) throw wrong(options.file, n, whyNot(text))
      if (line.line === 'head') {
        isOld = hasTexts(line)
        if (at !== undefined) done.push(at.end())
        at = new ClusterImport(line.cluster, line.to, options)
      } else if (at === undefined) throw wrong(options.file, n, 'the first line has no format')
      else if (!at.take(line))
        throw wrong(options.file, n, 'it names an object that no earlier line has, or has too many different topics')
    }
    if (at !== undefined) done.push(at.end())
    return done
  } catch (e) {
    if (isOfStore(e)) {
      at?.drop()
      throw new KubeNodeError(historyErrors.KN17008_unwritten({ folder: options.folder, why: messageOf(e) }))
    }
    at?.end()
    throw e
  }
}

function whyNot(text: string): string {
  const format = unknownFormat(text)
  return format === undefined
    ? 'it is not a line of an exported history'
    : `its format is ${format}, and this version knows none after ${EXPORT_FORMAT}`
}

const isOfStore = (e: unknown): boolean => fieldsOf(e)['code'] === 'ERR_SQLITE_ERROR'

const wrong = (file: string, line: number, why: string): KubeNodeError =>
  new KubeNodeError(historyErrors.KN17007({ file, line, why }))

class ClusterImport {
  readonly #cluster: string
  /** Exclusive. */
  readonly #to: number
  readonly #writer: HistoryWriter
  readonly #subjects = new Map<number, number>()
  #rows: PendingRow[] = []
  #gaps: Gap[] = []
  #deeds: DeedLine[] = []
  #count = 0
  #isOpen = true

  constructor(cluster: string, to: number, { folder, now }: ImportOptions) {
    if (existsSync(historyFile(folder, cluster))) throw new KubeNodeError(historyErrors.KN17008({ folder, cluster }))
    this.#cluster = cluster
    this.#to = to
    this.#writer = new HistoryWriter(openForRecording(folder, cluster, now).db)
    this.#writer.markImported(true)
  }

  /** False if it names an unknown object. */
  take(line: Exclude<HistoryLine, { readonly line: 'head' }>): boolean {
    const { names } = this.#writer
    switch (line.line) {
      case 'subject': {
        const { id, kind, namespace, name, uid } = line
        this.#subjects.set(id, names.subject({ kind, namespace, name, uid }))
        return true
      }
      case 'row': {
        const subject = this.#subjects.get(line.subject)
        const topic = names.topic(line.topic)
        if (subject === undefined || topic === undefined) return false
        const value = line.value === undefined ? undefined : names.value(line.value)
        this.#rows.push({
          subject,
          topic,
          value,
          reported: line.reported ?? NOT_REPORTED,
          observed: line.observed,
        })
        break
      }
      case 'gap': {
        const subject = line.subject === undefined ? undefined : this.#subjects.get(line.subject)
        this.#gaps.push({ starts: line.starts, ends: line.ends, why: line.why, kind: line.kind, subject })
        break
      }
      case 'deed':
        this.#deeds.push(line.deed)
        break
    }
    if (this.#rows.length >= MAX_BATCH) this.#flush()
    return true
  }

  end(): Imported {
    if (this.#isOpen) {
      this.#flush()
      this.#isOpen = false
      this.#writer.close()
    }
    return { cluster: this.#cluster, rows: this.#count }
  }

  /** Without what is still unwritten. */
  drop(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#writer.close()
  }

  #flush(): void {
    this.#writer.write({ rows: this.#rows, gaps: this.#gaps, deeds: this.#deeds, now: this.#to - 1 })
    this.#count += this.#rows.length
    this.#rows = []
    this.#gaps = []
    this.#deeds = []
  }
}
