// Pure: the rescue command of a host, and how the join installs it. A rescue key can run only this program: four fixed commands, of which one takes the ID of a
// boot. Nothing that a client sends is ever evaluated, and what the program does can be repeated.
import { quoted } from '#lib/shell-word.ts'
import type { RescueLine } from '#ssh/login/key-of-secret.ts'
import { REPORT_WORDS } from '#ssh/script.ts'
import { AGENT_UNIT } from '../leave/leave-host.ts'

export interface RescuePlaces {
  /** Of the program itself. Only root can write to its folder. */
  readonly program: string
  readonly evidence: string
  /** Empty after a boot. */
  readonly run: string
  readonly bootID: string
  /** `b` in it restarts the host at once, without its disks. */
  readonly sysrq: string
  readonly path: string
}

export const RESCUE_PLACES: RescuePlaces = {
  program: '/opt/kubenode/rescue',
  evidence: '/var/lib/kubenode/rescue',
  run: '/run',
  bootID: '/proc/sys/kernel/random/boot_id',
  sysrq: '/proc/sysrq-trigger',
  path: '/usr/sbin:/usr/bin:/sbin:/bin',
}

/** Ends the line of authorized_keys, so that a later join replaces it. */
const MARK = 'kubenode-rescue'
const MOST_EVIDENCE_BYTES = 262_144
/** Also the one being written. */
const KEPT = 3
/** The default timeout of rescueReboot. An order that old has failed, and the next one begins with an orderly shutdown again. */
const ORDER_MINUTES = 10

/** `owner`: UID of the Machine. A host that answers with another one is not that Machine's. */
function rescueProgram(owner: string, places: RescuePlaces = RESCUE_PLACES): string {
  const { program, evidence, run, bootID, sysrq, path } = places
  return `#!/bin/sh
# The only command of KubeNode's rescue key: state, evidence, restart-agent, reboot BOOT-ID.
{
set -u
PATH=${path}
LC_ALL=C
export PATH LC_ALL
umask 077
${REPORT_WORDS}
wrong() { failed PreflightFailed 'the rescue key runs state, evidence, restart-agent and reboot, and nothing else'; }
brief() { timeout -k 1 3 "$@" 2>/dev/null; }
asked=\${SSH_ORIGINAL_COMMAND-}
# As root after sudo, which passes no environment on.
[ -n "$asked" ] || [ "$(id -u)" != 0 ] || asked=\${1-}
boot=
case $asked in
state | evidence | restart-agent) verb=$asked ;;
'reboot '*) verb=reboot boot=\${asked#reboot } ;;
*) wrong ;;
esac
case $boot in *[!0123456789abcdef-]*) wrong ;; esac
[ "$verb" != reboot ] || [ "\${#boot}" = 36 ] || wrong
[ "$(id -u)" = 0 ] || exec sudo -n /bin/sh ${quoted(program)} "$asked"
fact owner ${quoted(owner)}
case $verb in
state)
  fact bootID "$(cat ${quoted(bootID)})"
  fact uptime "$(cut -d. -f1 /proc/uptime)"
  fact load "$(cut -d' ' -f1-3 /proc/loadavg)"
  fact memory "$(awk '/^MemAvailable:/ { print int($2 / 1024) " MiB available" }' /proc/meminfo)"
  fact agent "$(brief systemctl is-active ${AGENT_UNIT})"
  fact kubelet "$(brief systemctl is-active kubelet.service)"
  ;;
evidence)
  fact agentSays "$(brief journalctl -u ${AGENT_UNIT} -n 1 -o cat --no-pager)"
  fact kernelSays "$(brief dmesg --level=emerg,alert,crit,err | tail -n 1)"
  folder=${quoted(evidence)}
  file=$folder/evidence-$(date -u +%Y%m%dT%H%M%SZ).txt
  mkdir -p -- "$folder" 2>/dev/null
  ls -1 -- "$folder" 2>/dev/null | sort -r | tail -n +${KEPT} | while read -r old; do rm -f -- "$folder/$old"; done
  {
    date -u; cat /proc/uptime /proc/loadavg /proc/meminfo
    brief systemctl --no-pager --lines 0 status ${AGENT_UNIT} kubelet.service
    brief df -P; brief ps -eo pid,ppid,stat,wchan:20,etimes,rss,comm
    brief dmesg | tail -n 400
    brief journalctl -u ${AGENT_UNIT} -n 300 --no-pager
  } 2>&1 | head -c ${MOST_EVIDENCE_BYTES} 2>/dev/null > "$file"
  if [ -s "$file" ]; then fact place "$file"; else fact place ''; fi
  ;;
restart-agent)
  brief systemctl reset-failed ${AGENT_UNIT}
  why=$(timeout -k 1 15 systemctl restart ${AGENT_UNIT} 2>&1) || failed PreflightFailed "the agent does not start: $(echo "$why" | tail -n 1)"
  fact agent "$(brief systemctl is-active ${AGENT_UNIT})"
  ;;
reboot)
  now=$(cat ${quoted(bootID)})
  mark=${quoted(run)}/kubenode-rescue-$boot
  [ -z "$(find "$mark" -mmin +${ORDER_MINUTES - 1} 2>/dev/null)" ] || rm -f -- "$mark"
  if [ "$now" != "$boot" ]; then
    fact reboot done
    fact bootID "$now"
  elif [ ! -e "$mark" ]; then
    : > "$mark" || failed Full "$mark cannot be written"
    fact reboot ordered
    # Before the order: it ends sshd too, and with it this connection.
    report done '' ''
    timeout -k 1 15 systemctl --no-block reboot > /dev/null 2>&1 || fact systemd silent
  elif [ -n "$(find "$mark" -mmin +1)" ]; then
    # Its services had two minutes to stop.
    fact reboot forced
    # Nothing waits for a disk: a process that hangs on one cannot be killed.
    { sync & sleep 5; echo b > ${quoted(sysrq)}; systemctl reboot --force --force; } > /dev/null 2>&1 &
  else
    fact reboot underway
  fi
  ;;
esac
report done '' ''
exit 0
} < /dev/null
`
}

/** Part of the join's last script, which runs as root. `user`: who logs in. */
export function rescueInstall(owner: string, { publicKey, from }: RescueLine, places: RescuePlaces): string {
  const { program } = places
  const limits = ['restrict', `command="/bin/sh ${program}"`, ...(from.length > 0 ? [`from="${from.join(',')}"`] : [])]
  const [, key = ''] = publicKey.split(' ')
  const place = `rescue=${quoted(program)}`
  return `${place}
way=$(dirname -- "$rescue")
# The user who logs in must be able to read it, and nobody else to replace it: it runs as root.
(umask 022 && mkdir -p -- "$way") && way=$(cd -P -- "$way" && pwd -P) || failed Full "$rescue cannot be written"
while :; do
  [ -n "$(find "$way" -prune -user 0 \\( ! -perm -020 ! -perm -002 -o -perm -1000 \\))" ] || failed PreflightFailed "$way belongs to another user or is writable by others; the rescue key is not installed"
  [ "$way" != / ] || break
  way=$(dirname -- "$way")
done
cat > "$rescue.new" << 'KUBENODE_RESCUE' && chmod 755 "$rescue.new" && mv -f -- "$rescue.new" "$rescue" || failed Full "$rescue cannot be written"
${rescueProgram(owner, places)}KUBENODE_RESCUE
user=\${SUDO_USER:-root}
home=$(getent passwd "$user" | cut -d: -f6)
[ -n "$home" ] && [ -d "$home" ] || failed PreflightFailed "user $user has no home folder for the rescue key"
keys=$home/.ssh/authorized_keys
! [ -L "$home/.ssh" ] && ! [ -L "$keys" ] || failed PreflightFailed "$keys is a link; the rescue key is not installed"
if grep -F -- ${quoted(key)} "$keys" 2>/dev/null | grep -qv ' ${MARK}$'; then failed PreflightFailed "the rescue key may already log in as $user, without its limits"; fi
[ -d "$home/.ssh" ] || { mkdir -m 700 -- "$home/.ssh" && chown "$user:" "$home/.ssh"; } || failed Full "$home/.ssh cannot be created"
if [ -e "$keys" ]; then cp -p -- "$keys" "$keys.kubenode"; else : > "$keys.kubenode" && chown "$user:" "$keys.kubenode"; fi || failed Full "$keys cannot be written"
{ if [ -e "$keys" ]; then grep -v ' ${MARK}$' "$keys"; fi; echo ${quoted(`${limits.join(',')} ${publicKey} ${MARK}`)}; } > "$keys.kubenode" && mv -f -- "$keys.kubenode" "$keys" || failed Full "$keys cannot be written"
fact rescue installed`
}
