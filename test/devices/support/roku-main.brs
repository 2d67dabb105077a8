' What Roku does with a Task node whose control is set to RUN.
sub main(top as object)
    m.top = top
    init()
    if m.top.functionName = "provideTokens" then provideTokens()
end sub
