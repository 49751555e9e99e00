// The events of one commit, put together once for all watchers that receive the same: a tree of lines whose every path is one piece to
// write. A watcher only follows it, so a status storm costs each watcher a pointer per event and one write per commit.
import { chunkOf, joinedChunk } from './watch-line.ts'

export class Piece {
  readonly #before: Piece | undefined
  readonly #line: Buffer
  readonly bytes: number
  #next: Piece | undefined
  #others: Map<Buffer, Piece> | undefined
  #chunk: Buffer | undefined

  private constructor(before: Piece | undefined, line: Buffer) {
    this.#before = before
    this.#line = line
    this.bytes = (before?.bytes ?? 0) + line.length
  }

  /** A piece that begins with this line. Pieces live as long as their lines. */
  static of(line: Buffer): Piece {
    let piece = firsts.get(line)
    if (piece === undefined) {
      piece = new Piece(undefined, line)
      firsts.set(line, piece)
    }
    return piece
  }

  /** The same plus one line. Most watchers receive everything: the path that was used first is checked first. */
  and(line: Buffer): Piece {
    if (this.#next === undefined) return (this.#next = new Piece(this, line))
    if (this.#next.#line === line) return this.#next
    this.#others ??= new Map()
    let other = this.#others.get(line)
    if (other === undefined) {
      other = new Piece(this, line)
      this.#others.set(line, other)
    }
    return other
  }

  get chunk(): Buffer {
    return (this.#chunk ??= this.#before === undefined ? chunkOf(this.#line) : joinedChunk(this.#addTo([])))
  }

  #addTo(lines: Buffer[]): readonly Buffer[] {
    if (this.#before !== undefined) this.#before.#addTo(lines)
    lines.push(this.#line)
    return lines
  }
}

const firsts = new WeakMap<Buffer, Piece>()
