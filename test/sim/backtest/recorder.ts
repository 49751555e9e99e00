// The real recorder beside the simulated controllers: what it wrote is what a backtest reads.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HistoryReader } from '#history/ask/reader.ts'
import { exported } from '#history/lines/export.ts'
import type { HistoryLine } from '#history/lines/line.ts'
import { DEFAULT_BOUNDS } from '#history/record/bounds.ts'
import { createHistoryMetrics } from '#history/record/metrics.ts'
import { Recorder } from '#history/record/recorder.ts'
import { Watches } from '#history/record/watches.ts'
import { openForRecording } from '#history/store/file.ts'
import { HistoryWriter } from '#history/store/writer.ts'
import { createMetrics } from '#runtime/metrics.ts'
import type { Actor } from '../process.ts'

const CLUSTER = 'sim'

export interface Recording {
  readonly actor: Actor
  /** Ends the recording. */
  readonly lines: () => readonly HistoryLine[]
}

export function recording(): Recording {
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-sim-history-'))
  let ends: () => void = () => undefined
  const actor: Actor = {
    name: 'recorder',
    isFaulty: false,
    start: ({ cacheClient: client, clock, random, log }) => {
      const writer = new HistoryWriter(openForRecording(folder, CLUSTER, clock.now()).db)
      const bounds = { ...DEFAULT_BOUNDS, rowsPerHour: Number.MAX_SAFE_INTEGER }
      const metrics = createHistoryMetrics(createMetrics())
      const recorder = new Recorder({ cluster: CLUSTER, writer, clock, log, bounds, metrics })
      const watches = new Watches({
        client,
        clock,
        random,
        log,
        recorder,
        names: writer.names,
        aliveAt: undefined,
        mostKept: bounds.kept,
        onTooMuch: () => undefined,
      })
      recorder.start()
      watches.start()
      ends = () => {
        recorder.stop()
        writer.close()
      }
    },
  }
  const lines = (): readonly HistoryLine[] => {
    ends()
    const reader = new HistoryReader(folder, CLUSTER)
    try {
      const span = reader.span()
      return span === undefined ? [] : [...exported(reader, { from: span.begins, to: span.ends })]
    } finally {
      reader.close()
      rmSync(folder, { recursive: true, force: true })
    }
  }
  return { actor, lines }
}
