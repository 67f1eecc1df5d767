"""The preset dictionary of codec 1: what is written again and again, likeliest last.

First words and phrases of conversations in English, then what surrounds a message when
LangGraph's serializer has written it, then the frames of a checkpoint. Numbers in between
are lengths and type codes of MessagePack.

Rule: part of the stored format. It never changes; a better one is another codec.
"""

_WORDS = (
    b" something everything themselves throughout although whether against between without "
    b"because through another however before should during within people number system first "
    b"example following function information available different possible important question "
    b"answer please could you help me with I'm sorry, but I don't have access to Let me know if "
    b"you have any other questions. Here is a list of the You're right Thank you for What is "
    b"the How do I use Can you Based on the In this case, For example, To do this, you can use "
    b"```python\nimport ```\n\n1. **\n2. **\n- **://www..com/.org "
    b'{"error": null, "status": "ok", "name": "", "type": "text", "text": "", "value": true, '
    b'"id": "", "url": "https://", "result": [], "content": "", "query": "", "title": "", '
    b"about after again also always any are as at be been both but by can come could did do does "
    b"each even every few find from get give go good had has have he her here him his if in into "
    b"is it its just know like look made make many may more most much must my need never new next "
    b"no not now of off on one only or other our out over own part same see she so some still "
    b"such take tell than that their them then there these they thing think this those three time "
    b"too two under up us used using very want was way we well were what when where which while "
    b"who will with would year you your able ance ation ations ence ement ing ings ions ity less "
    b"ly ment ments ness ous tion tional able to be it is in the of the and the to the that the "
    b"for the on the with the is a as a of a in a and a to be not the and are from this or that "
)

_MESSAGES = (
    b"\xa4type\xa8datetime\xaflanggraph.types\xa4Send"
    b"\xa9Interrupt\xa5value\xb0__pregel_tasks\xa9__error__\xad__interrupt__\xaa__resume__"
    b"\xa4args\xa3kwargs\xa8function\xa9arguments\xa9tool_use\xabtool_result\xa5input"
    b"\xabchunk_position\xa5model_provider\xa6openai\xa9anthropic\xb2system_fingerprint"
    b"\xadlogprobs\xc0\xa5index\x00\xaastop_reason\xa8end_turn\xb1model_name\xa6gpt-4o"
    b"\xbelangchain_core.messages.system\xadSystemMessage"
    b"\x81\xa8messages\x91\xc7\x05\x94\xbdlangchain_core.messages.tool\xabToolMessage\x87"
    b"\xa7content\xa0\xb1additional_kwargs\x80\xb1response_metadata\x80\xa4type\xa4tool\xa4name"
    b"\xa2id\xd9$\xactool_call_id\xbdcall_\xa8artifact\xc0\xa6status\xa7success"
    b"\xb3model_validate_json\xb1response_metadata\x8a\xabtoken_usage\x85"
    b"\xb1completion_tokens\xadprompt_tokens\xactotal_tokens\xb9completion_tokens_details"
    b"\xb0reasoning_tokens\x00\xb5prompt_tokens_details\xadcached_tokens\x00"
    b"\xaamodel_name\xadfinish_reason\xa4stop\xaatool_calls\x91\x84\xa4name\xa4args\x81\xa2id"
    b"\xa4type\xa9tool_call\xb2invalid_tool_calls\x90\xaeusage_metadata\x85\xacinput_tokens"
    b"\xadoutput_tokens\xactotal_tokens\xb3input_token_details\x81\xaacache_read\x00"
    b"\xb4output_token_details\x81\xa9reasoning\x00\xb3model_validate_json"
    b"\x81\xa8messages\x91\xc8\x02<\x05\x94\xbdlangchain_core.messages.human\xacHumanMessage\x86"
    b"\xa7content\xda\x01\x90\xb1additional_kwargs\x80\xb1response_metadata\x80\xa4type"
    b"\xa5human\xa4name\xc0\xa2id\xd9$\xb3model_validate_json"
    b"\xc8\x02c\x05\x94\xbalangchain_core.messages.ai\xa9AIMessage\x89\xa7content\xda\x01\x90"
    b"\xb1additional_kwargs\x80\xb1response_metadata\x80\xa4type\xa2ai\xa4name\xc0\xa2id\xd9$"
    b"\xaatool_calls\x90\xb2invalid_tool_calls\x90\xaeusage_metadata\xc0\xb3model_validate_json"
)

_FRAMES = (
    b"\xbdcounters_since_delta_snapshot\x81\xa8messages\x92\x01\x01"
    b"\xa6run_id\xd9$\xaauser_id\xadassistant_id\xa8graph_id\xb0memory_namespace\xa6source"
    b"\xa6update\xa4fork\x92\x85\xa1v\x02\xacpending_sends\x90"
    b"\xd9300000000000000000000000000000001.0.\xd9300000000000000000000000000000002.0."
    b"\xaebranch:to:agent\xafbranch:to:tools\xb6~__pregel_push, \xb5~__pregel_pull, tools"
    b"\xb5~__pregel_pull, agent\xb9~__pregel_pull, __start__\xa1i\x92\xa8messages"
    b"\xafbranch:to:model\x01\x83\xa1t\xd9$\xa1p\xb5~__pregel_pull, model\xa1i\x91\xa8messages\x01"
    b"\x92\x85\xa1v\x04\xa2ts\xd9 2026-01-01T00:00:00.000000+00:00\xb0channel_versions\x83"
    b"\xa9__start__\x01\xa8messages\x02\xafbranch:to:model\x02\xadversions_seen\x83"
    b"\xa9__input__\x80\xa9__start__\x81\xa9__start__\x01\xa5model\x81\xafbranch:to:model\x02"
    b"\xb0updated_channels\x92\xafbranch:to:model\xa8messages\x91\xa9__start__\x91\xa8messages\x83"
    b"\xa6source\xa5input\xa4loop\xa4step\x01\xa7parents\x80\x02\x00\x01"
    b"\x85\xa1p\xd9$1f1\xa1t\xc4\x06\xa1n\x0f\xa1s\x91\xa8messages\xa1v\x91\xa9__start__"
    b"\x85\xa1p\xd9$1f1\xa1t\xc4\x06\xa1n\x0f\xa1o\x81\xa8messages\x93\x00\x05\x01"
    b"\xa1v\x91\xafbranch:to:model\x01"
)

DICTIONARY = _WORDS + _MESSAGES + _FRAMES
