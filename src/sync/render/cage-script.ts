// The shell script that builds a render's root: read-only, with the release, Node.js and its libraries, and nothing else of this machine. It runs inside
// fresh namespaces, so its mounts end with the process.

/** Kilobytes of writable memory; the heap limit of Node.js is lower. */
const MAX_DATA_KB = 2 * 1024 * 1024
/** Pipes, the release's files one after the other, and some reserve. */
const MAX_OPEN_FILES = 256

/** For machines without namespaces: no files, bounded memory. */
export const CAGE_LIMITS = { openFiles: MAX_OPEN_FILES, fileBytes: 0, dataBytes: MAX_DATA_KB * 1024 }

/** Path of the release inside. */
export const INSIDE_RELEASE = '/release'
/** Folder inside it with the built files. */
export const INSIDE_BUILT = 'built'

/**
 * Arguments: empty folder for the root, folder of the release, folder of its built files or nothing, Node, how to enter (uid, or "userns"), CPU seconds,
 * arguments of Node.
 */
export const ROOT_SCRIPT = `set -eu
umask 022 # another user looks through the folders that are made here
root=$1; release=$2; built=$3; node=$4; enter=$5; cpu=$6; shift 6
mount -t tmpfs -o size=1m,mode=755,nosuid,nodev tmpfs "$root"
lock() { mount -o remount,bind,ro,nosuid,nodev "$1"; }
show() { mkdir -p "$root$2"; mount --bind "$1" "$root$2"; lock "$root$2"; }
if [ -n "$built" ]; then show "$built" ${INSIDE_RELEASE}/${INSIDE_BUILT}
else
  show "$release/src" ${INSIDE_RELEASE}/src
  show "$release/node_modules" ${INSIDE_RELEASE}/node_modules
fi
show_file() { : > "$root$2"; mount --bind "$1" "$root$2"; lock "$root$2"; }
show_file "$release/package.json" ${INSIDE_RELEASE}/package.json
show_file "$node" /node
mkdir -p "$root/usr"
for dir in usr/lib usr/lib64 lib lib64; do
  if [ -L "/$dir" ]; then ln -s "$(readlink "/$dir")" "$root/$dir"
  elif [ -d "/$dir" ]; then show "/$dir" "/$dir"
  fi
done
lock "$root"
cd /
ulimit -c 0; ulimit -f 0; ulimit -n ${MAX_OPEN_FILES}; ulimit -t "$cpu"; ulimit -d ${MAX_DATA_KB}
if [ "$enter" = userns ]; then exec setpriv --no-new-privs unshare --user --root="$root" --wd=/ /node "$@"; fi
exec setpriv --no-new-privs chroot --userspec="$enter:$enter" "$root" /node "$@"
`
