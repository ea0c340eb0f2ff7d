# Completion of posthaste for bash. Made by scripts/generate from the command line itself.

_posthaste_commands() {
    case $1 in
        '') echo 'serve setup domain key team member user suppression webhook queue audit source provider lane metrics tls certificate status doctor crashtest backup restore secrets import retention erase migrate version' ;;
        'domain') echo 'add list show verify rotate bodies remove' ;;
        'key') echo 'create list revoke' ;;
        'team') echo 'list create rename plan' ;;
        'member') echo 'list invite role remove' ;;
        'user') echo 'list password reset-link reset-factors' ;;
        'suppression') echo 'list add remove export import' ;;
        'webhook') echo 'list show add enable disable rotate ping replay remove' ;;
        'queue') echo 'list count lanes show hold release retry reroute expire drop undo' ;;
        'source') echo 'list add remove suspend resume pool hostname warm-up assign unassign' ;;
        'provider') echo 'list show set' ;;
        'lane') echo 'list pause resume' ;;
        'metrics') echo 'show breakdown recompute' ;;
        'tls') echo 'policy' ;;
        'certificate') echo 'list issue renew' ;;
        'secrets') echo 'status rekey' ;;
    esac
}

_posthaste_options() {
    case $1 in
        '') echo '-V --version --help' ;;
        'serve') echo '-c --config --json --sandbox --help' ;;
        'setup') echo '-c --config --json --email --team --help' ;;
        'domain') echo '--help' ;;
        'domain add') echo '-c --config --json --team --help' ;;
        'domain list') echo '-c --config --json --team --help' ;;
        'domain show') echo '-c --config --json --team --help' ;;
        'domain verify') echo '-c --config --json --team --help' ;;
        'domain rotate') echo '-c --config --json --team --help' ;;
        'domain bodies') echo '-c --config --json --team --help' ;;
        'domain remove') echo '-c --config --json --team --help' ;;
        'key') echo '--help' ;;
        'key create') echo '-c --config --json --team --name --permission --domain --help' ;;
        'key list') echo '-c --config --json --team --help' ;;
        'key revoke') echo '-c --config --json --team --help' ;;
        'team') echo '--help' ;;
        'team list') echo '-c --config --json --help' ;;
        'team create') echo '-c --config --json --owner --help' ;;
        'team rename') echo '-c --config --json --team --help' ;;
        'team plan') echo '-c --config --json --team --help' ;;
        'member') echo '--help' ;;
        'member list') echo '-c --config --json --team --help' ;;
        'member invite') echo '-c --config --json --team --role --help' ;;
        'member role') echo '-c --config --json --team --help' ;;
        'member remove') echo '-c --config --json --team --help' ;;
        'user') echo '--help' ;;
        'user list') echo '-c --config --json --help' ;;
        'user password') echo '-c --config --json --help' ;;
        'user reset-link') echo '-c --config --json --help' ;;
        'user reset-factors') echo '-c --config --json --unlink --help' ;;
        'suppression') echo '--help' ;;
        'suppression list') echo '-c --config --json --team --origin --search --limit --help' ;;
        'suppression add') echo '-c --config --json --team --help' ;;
        'suppression remove') echo '-c --config --json --team --help' ;;
        'suppression export') echo '-c --config --json --team --origin --help' ;;
        'suppression import') echo '-c --config --json --team --origin --preview --help' ;;
        'webhook') echo '--help' ;;
        'webhook list') echo '-c --config --json --team --help' ;;
        'webhook show') echo '-c --config --json --team --help' ;;
        'webhook add') echo '-c --config --json --team --events --help' ;;
        'webhook enable') echo '-c --config --json --team --help' ;;
        'webhook disable') echo '-c --config --json --team --help' ;;
        'webhook rotate') echo '-c --config --json --team --help' ;;
        'webhook ping') echo '-c --config --json --team --help' ;;
        'webhook replay') echo '-c --config --json --team --event-ids --since --until --all --help' ;;
        'webhook remove') echo '-c --config --json --team --help' ;;
        'queue') echo '--help' ;;
        'queue list') echo '-c --config --json --domain --provider --pool --stream --team --tag --older-than --newer-than --state --reply --category --email --id --source --limit --help' ;;
        'queue count') echo '-c --config --json --domain --provider --pool --stream --team --tag --older-than --newer-than --state --reply --category --email --id --source --help' ;;
        'queue lanes') echo '-c --config --json --domain --provider --pool --stream --team --tag --older-than --newer-than --state --reply --category --email --id --source --help' ;;
        'queue show') echo '-c --config --json --help' ;;
        'queue hold') echo '-c --config --json --domain --provider --pool --stream --team --tag --older-than --newer-than --state --reply --category --email --id --source --dry-run --new --help' ;;
        'queue release') echo '-c --config --json --domain --provider --pool --stream --team --tag --older-than --newer-than --state --reply --category --email --id --source --dry-run --help' ;;
        'queue retry') echo '-c --config --json --domain --provider --pool --stream --team --tag --older-than --newer-than --state --reply --category --email --id --source --dry-run --help' ;;
        'queue reroute') echo '-c --config --json --domain --provider --pool --stream --team --tag --older-than --newer-than --state --reply --category --email --id --source --dry-run --to --help' ;;
        'queue expire') echo '-c --config --json --domain --provider --pool --stream --team --tag --older-than --newer-than --state --reply --category --email --id --source --dry-run --all --yes --help' ;;
        'queue drop') echo '-c --config --json --domain --provider --pool --stream --team --tag --older-than --newer-than --state --reply --category --email --id --source --dry-run --all --yes --help' ;;
        'queue undo') echo '-c --config --json --help' ;;
        'audit') echo '-c --config --json --team --actor --action --target --since --until --limit --csv --help' ;;
        'source') echo '--help' ;;
        'source list') echo '-c --config --json --help' ;;
        'source add') echo '-c --config --json --pool --hostname --warm-up --help' ;;
        'source remove') echo '-c --config --json --help' ;;
        'source suspend') echo '-c --config --json --help' ;;
        'source resume') echo '-c --config --json --help' ;;
        'source pool') echo '-c --config --json --help' ;;
        'source hostname') echo '-c --config --json --help' ;;
        'source warm-up') echo '-c --config --json --end --help' ;;
        'source assign') echo '-c --config --json --team --domain --stream --help' ;;
        'source unassign') echo '-c --config --json --help' ;;
        'provider') echo '--help' ;;
        'provider list') echo '-c --config --json --help' ;;
        'provider show') echo '-c --config --json --help' ;;
        'provider set') echo '-c --config --json --help' ;;
        'lane') echo '--help' ;;
        'lane list') echo '-c --config --json --help' ;;
        'lane pause') echo '-c --config --json --minutes --help' ;;
        'lane resume') echo '-c --config --json --help' ;;
        'metrics') echo '--help' ;;
        'metrics show') echo '-c --config --json --team --start --end --timezone --granularity --metrics --by --help' ;;
        'metrics breakdown') echo '-c --config --json --team --start --end --timezone --granularity --metrics --by --domain --provider --help' ;;
        'metrics recompute') echo '-c --config --json --help' ;;
        'tls') echo '--help' ;;
        'tls policy') echo '-c --config --json --help' ;;
        'certificate') echo '--help' ;;
        'certificate list') echo '-c --config --json --help' ;;
        'certificate issue') echo '-c --config --json --help' ;;
        'certificate renew') echo '-c --config --json --help' ;;
        'status') echo '-c --config --json --help' ;;
        'doctor') echo '-c --config --json --domain --help' ;;
        'crashtest') echo '-c --config --json --kills --seed --duration --help' ;;
        'backup') echo '-c --config --json --no-bodies --no-verify --no-master-key --recipient --passphrase-file --help' ;;
        'restore') echo '-c --config --json --data-dir --identity-file --passphrase-file --help' ;;
        'secrets') echo '--help' ;;
        'secrets status') echo '-c --config --json --help' ;;
        'secrets rekey') echo '-c --config --json --new-key-file --help' ;;
        'import') echo '-c --config --json --team --from --key-file --only --dry-run --return-path --permission --enable --secrets --zone --help' ;;
        'retention') echo '-c --config --json --team --help' ;;
        'erase') echo '-c --config --json --team --dry-run --yes --help' ;;
        'migrate') echo '-c --config --json --help' ;;
        'version') echo '-c --config --json --help' ;;
    esac
}

# What stands after an option: words, @file, or @any.
_posthaste_values() {
    case $1 in
        *' --config' | *' -c') echo '@file' ;;
        'setup --email') echo '@any' ;;
        'setup --team') echo '@any' ;;
        'domain add --team') echo '@any' ;;
        'domain list --team') echo '@any' ;;
        'domain show --team') echo '@any' ;;
        'domain verify --team') echo '@any' ;;
        'domain rotate --team') echo '@any' ;;
        'domain bodies --team') echo '@any' ;;
        'domain remove --team') echo '@any' ;;
        'key create --team') echo '@any' ;;
        'key create --name') echo '@any' ;;
        'key create --permission') echo 'full_access sending_access' ;;
        'key create --domain') echo '@any' ;;
        'key list --team') echo '@any' ;;
        'key revoke --team') echo '@any' ;;
        'team create --owner') echo '@any' ;;
        'team rename --team') echo '@any' ;;
        'team plan --team') echo '@any' ;;
        'member list --team') echo '@any' ;;
        'member invite --team') echo '@any' ;;
        'member invite --role') echo 'owner admin developer viewer' ;;
        'member role --team') echo '@any' ;;
        'member remove --team') echo '@any' ;;
        'suppression list --team') echo '@any' ;;
        'suppression list --origin') echo 'bounce complaint manual' ;;
        'suppression list --search') echo '@any' ;;
        'suppression list --limit') echo '@any' ;;
        'suppression add --team') echo '@any' ;;
        'suppression remove --team') echo '@any' ;;
        'suppression export --team') echo '@any' ;;
        'suppression export --origin') echo 'bounce complaint manual' ;;
        'suppression import --team') echo '@any' ;;
        'suppression import --origin') echo 'bounce complaint manual' ;;
        'webhook list --team') echo '@any' ;;
        'webhook show --team') echo '@any' ;;
        'webhook add --team') echo '@any' ;;
        'webhook add --events') echo '@any' ;;
        'webhook enable --team') echo '@any' ;;
        'webhook disable --team') echo '@any' ;;
        'webhook rotate --team') echo '@any' ;;
        'webhook ping --team') echo '@any' ;;
        'webhook replay --team') echo '@any' ;;
        'webhook replay --event-ids') echo '@any' ;;
        'webhook replay --since') echo '@any' ;;
        'webhook replay --until') echo '@any' ;;
        'webhook remove --team') echo '@any' ;;
        'queue list --domain') echo '@any' ;;
        'queue list --provider') echo '@any' ;;
        'queue list --pool') echo '@any' ;;
        'queue list --stream') echo 'transactional broadcast' ;;
        'queue list --team') echo '@any' ;;
        'queue list --tag') echo '@any' ;;
        'queue list --older-than') echo '@any' ;;
        'queue list --newer-than') echo '@any' ;;
        'queue list --state') echo 'waiting held' ;;
        'queue list --reply') echo '@any' ;;
        'queue list --category') echo 'recipient mailbox-full policy reputation content size tls dns network quota temporary' ;;
        'queue list --email') echo '@any' ;;
        'queue list --id') echo '@any' ;;
        'queue list --source') echo '@any' ;;
        'queue list --limit') echo '@any' ;;
        'queue count --domain') echo '@any' ;;
        'queue count --provider') echo '@any' ;;
        'queue count --pool') echo '@any' ;;
        'queue count --stream') echo 'transactional broadcast' ;;
        'queue count --team') echo '@any' ;;
        'queue count --tag') echo '@any' ;;
        'queue count --older-than') echo '@any' ;;
        'queue count --newer-than') echo '@any' ;;
        'queue count --state') echo 'waiting held' ;;
        'queue count --reply') echo '@any' ;;
        'queue count --category') echo 'recipient mailbox-full policy reputation content size tls dns network quota temporary' ;;
        'queue count --email') echo '@any' ;;
        'queue count --id') echo '@any' ;;
        'queue count --source') echo '@any' ;;
        'queue lanes --domain') echo '@any' ;;
        'queue lanes --provider') echo '@any' ;;
        'queue lanes --pool') echo '@any' ;;
        'queue lanes --stream') echo 'transactional broadcast' ;;
        'queue lanes --team') echo '@any' ;;
        'queue lanes --tag') echo '@any' ;;
        'queue lanes --older-than') echo '@any' ;;
        'queue lanes --newer-than') echo '@any' ;;
        'queue lanes --state') echo 'waiting held' ;;
        'queue lanes --reply') echo '@any' ;;
        'queue lanes --category') echo 'recipient mailbox-full policy reputation content size tls dns network quota temporary' ;;
        'queue lanes --email') echo '@any' ;;
        'queue lanes --id') echo '@any' ;;
        'queue lanes --source') echo '@any' ;;
        'queue hold --domain') echo '@any' ;;
        'queue hold --provider') echo '@any' ;;
        'queue hold --pool') echo '@any' ;;
        'queue hold --stream') echo 'transactional broadcast' ;;
        'queue hold --team') echo '@any' ;;
        'queue hold --tag') echo '@any' ;;
        'queue hold --older-than') echo '@any' ;;
        'queue hold --newer-than') echo '@any' ;;
        'queue hold --state') echo 'waiting held' ;;
        'queue hold --reply') echo '@any' ;;
        'queue hold --category') echo 'recipient mailbox-full policy reputation content size tls dns network quota temporary' ;;
        'queue hold --email') echo '@any' ;;
        'queue hold --id') echo '@any' ;;
        'queue hold --source') echo '@any' ;;
        'queue release --domain') echo '@any' ;;
        'queue release --provider') echo '@any' ;;
        'queue release --pool') echo '@any' ;;
        'queue release --stream') echo 'transactional broadcast' ;;
        'queue release --team') echo '@any' ;;
        'queue release --tag') echo '@any' ;;
        'queue release --older-than') echo '@any' ;;
        'queue release --newer-than') echo '@any' ;;
        'queue release --state') echo 'waiting held' ;;
        'queue release --reply') echo '@any' ;;
        'queue release --category') echo 'recipient mailbox-full policy reputation content size tls dns network quota temporary' ;;
        'queue release --email') echo '@any' ;;
        'queue release --id') echo '@any' ;;
        'queue release --source') echo '@any' ;;
        'queue retry --domain') echo '@any' ;;
        'queue retry --provider') echo '@any' ;;
        'queue retry --pool') echo '@any' ;;
        'queue retry --stream') echo 'transactional broadcast' ;;
        'queue retry --team') echo '@any' ;;
        'queue retry --tag') echo '@any' ;;
        'queue retry --older-than') echo '@any' ;;
        'queue retry --newer-than') echo '@any' ;;
        'queue retry --state') echo 'waiting held' ;;
        'queue retry --reply') echo '@any' ;;
        'queue retry --category') echo 'recipient mailbox-full policy reputation content size tls dns network quota temporary' ;;
        'queue retry --email') echo '@any' ;;
        'queue retry --id') echo '@any' ;;
        'queue retry --source') echo '@any' ;;
        'queue reroute --domain') echo '@any' ;;
        'queue reroute --provider') echo '@any' ;;
        'queue reroute --pool') echo '@any' ;;
        'queue reroute --stream') echo 'transactional broadcast' ;;
        'queue reroute --team') echo '@any' ;;
        'queue reroute --tag') echo '@any' ;;
        'queue reroute --older-than') echo '@any' ;;
        'queue reroute --newer-than') echo '@any' ;;
        'queue reroute --state') echo 'waiting held' ;;
        'queue reroute --reply') echo '@any' ;;
        'queue reroute --category') echo 'recipient mailbox-full policy reputation content size tls dns network quota temporary' ;;
        'queue reroute --email') echo '@any' ;;
        'queue reroute --id') echo '@any' ;;
        'queue reroute --source') echo '@any' ;;
        'queue reroute --to') echo '@any' ;;
        'queue expire --domain') echo '@any' ;;
        'queue expire --provider') echo '@any' ;;
        'queue expire --pool') echo '@any' ;;
        'queue expire --stream') echo 'transactional broadcast' ;;
        'queue expire --team') echo '@any' ;;
        'queue expire --tag') echo '@any' ;;
        'queue expire --older-than') echo '@any' ;;
        'queue expire --newer-than') echo '@any' ;;
        'queue expire --state') echo 'waiting held' ;;
        'queue expire --reply') echo '@any' ;;
        'queue expire --category') echo 'recipient mailbox-full policy reputation content size tls dns network quota temporary' ;;
        'queue expire --email') echo '@any' ;;
        'queue expire --id') echo '@any' ;;
        'queue expire --source') echo '@any' ;;
        'queue drop --domain') echo '@any' ;;
        'queue drop --provider') echo '@any' ;;
        'queue drop --pool') echo '@any' ;;
        'queue drop --stream') echo 'transactional broadcast' ;;
        'queue drop --team') echo '@any' ;;
        'queue drop --tag') echo '@any' ;;
        'queue drop --older-than') echo '@any' ;;
        'queue drop --newer-than') echo '@any' ;;
        'queue drop --state') echo 'waiting held' ;;
        'queue drop --reply') echo '@any' ;;
        'queue drop --category') echo 'recipient mailbox-full policy reputation content size tls dns network quota temporary' ;;
        'queue drop --email') echo '@any' ;;
        'queue drop --id') echo '@any' ;;
        'queue drop --source') echo '@any' ;;
        'audit --team') echo '@any' ;;
        'audit --actor') echo '@any' ;;
        'audit --action') echo '@any' ;;
        'audit --target') echo '@any' ;;
        'audit --since') echo '@any' ;;
        'audit --until') echo '@any' ;;
        'audit --limit') echo '@any' ;;
        'source add --pool') echo '@any' ;;
        'source add --hostname') echo '@any' ;;
        'source assign --team') echo '@any' ;;
        'source assign --domain') echo '@any' ;;
        'source assign --stream') echo 'transactional broadcast' ;;
        'lane pause --minutes') echo '@any' ;;
        'metrics show --team') echo '@any' ;;
        'metrics show --start') echo '@any' ;;
        'metrics show --end') echo '@any' ;;
        'metrics show --timezone') echo '@any' ;;
        'metrics show --granularity') echo '@any' ;;
        'metrics show --metrics') echo '@any' ;;
        'metrics show --by') echo '@any' ;;
        'metrics breakdown --team') echo '@any' ;;
        'metrics breakdown --start') echo '@any' ;;
        'metrics breakdown --end') echo '@any' ;;
        'metrics breakdown --timezone') echo '@any' ;;
        'metrics breakdown --granularity') echo '@any' ;;
        'metrics breakdown --metrics') echo '@any' ;;
        'metrics breakdown --by') echo '@any' ;;
        'metrics breakdown --domain') echo '@any' ;;
        'metrics breakdown --provider') echo '@any' ;;
        'doctor --domain') echo '@any' ;;
        'crashtest --kills') echo '@any' ;;
        'crashtest --seed') echo '@any' ;;
        'crashtest --duration') echo '@any' ;;
        'backup --recipient') echo '@any' ;;
        'backup --passphrase-file') echo '@file' ;;
        'restore --data-dir') echo '@file' ;;
        'restore --identity-file') echo '@file' ;;
        'restore --passphrase-file') echo '@file' ;;
        'secrets rekey --new-key-file') echo '@file' ;;
        'import --team') echo '@any' ;;
        'import --from') echo '@any' ;;
        'import --key-file') echo '@file' ;;
        'import --only') echo '@any' ;;
        'import --return-path') echo '@any' ;;
        'import --permission') echo 'full_access sending_access' ;;
        'import --secrets') echo '@file' ;;
        'import --zone') echo '@file' ;;
        'retention --team') echo '@any' ;;
        'erase --team') echo '@any' ;;
    esac
}

# What stands without an option.
_posthaste_arguments() {
    case $1 in
        'domain bodies') echo 'keep discard' ;;
        'member role') echo 'owner admin developer viewer' ;;
        'suppression import') echo '@file' ;;
        'backup') echo '@file' ;;
        'restore') echo '@file' ;;
    esac
}

_posthaste() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} path='' skip='' word offered i
    COMPREPLY=()
    # The equals sign of --option=value is a word of its own.
    if [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD - 2]}; fi
    if [[ $cur == = ]]; then cur=''; fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $word == = ]]; then continue; fi
        if [[ $skip ]]; then
            skip=''
        elif [[ $word == -* ]]; then
            skip=$(_posthaste_values "$path $word")
        elif [[ " $(_posthaste_commands "$path") " == *" $word "* ]]; then
            path="${path:+$path }$word"
        fi
    done
    offered=$(_posthaste_values "$path $prev")
    if [[ -z $offered && $cur == -* ]]; then
        offered=$(_posthaste_options "$path")
    elif [[ -z $offered ]]; then
        offered="$(_posthaste_commands "$path") $(_posthaste_arguments "$path")"
    fi
    if [[ $offered == *@file* ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    elif [[ $offered != @any ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$offered" -- "$cur")
    fi
}

complete -F _posthaste posthaste
