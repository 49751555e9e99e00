// Pure: the frame of every script that runs on a host. The shell reads all of it before it runs anything, so that a lost connection never runs half a
// script, and no command in it can read the rest of it from standard input.

/** A host downloads the programs; only their digest and the join bundle come over SSH. */
const MAX_SCRIPT_BYTES = 20 * 1024

/** In a script: `fact NAME VALUE`, `failed CLASS WHY` (ends it). */
export const REPORT_WORDS = `report() { printf '{"kubenode":"%s","name":"%s","value":"%s"}\\n' "$1" "$2" "$(printf %s "$3" | tr -d '\\000-\\037"\\\\' | cut -c 1-300)"; }
fact() { report fact "$1" "$2"; }
failed() { report failed "$1" "$2"; exit 1; }`

export function hostScript(body: string): string {
  // The empty line ends a greeting that has no end of its own, which would swallow the first report.
  const script = `{\nset -u\nLC_ALL=C\nexport LC_ALL\numask 077\n${REPORT_WORDS}\necho\n${body}\nreport done '' ''\nexit 0\n} < /dev/null\n`
  const bytes = Buffer.byteLength(script)
  if (bytes > MAX_SCRIPT_BYTES) throw new Error(`a script for hosts has ${bytes} bytes, more than ${MAX_SCRIPT_BYTES}`)
  return script
}
